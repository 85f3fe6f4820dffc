// The head of the report: slider, live score with its difference to the initial one, counts at every level, curve.
function scorePanel() {
  const parts = {counts: countsPart, labels: labelsPart, totals: totalsPart};
  const part = parts[model.kind]();
  const number = el('output', {class: 'big'});
  const caption = el('p', {class: 'quiet'});
  const change = el('p', {class: 'change'});
  const curve = data.hasScores && makeCurve(part.name);
  const update = () => {
    const value = model.scoreAt(state.threshold);
    number.textContent = part.format(value);
    change.replaceChildren(...part.change(value));
    caption.textContent = part.caption(value);
    part.update();
  };
  listen('threshold', update);
  listen('k', update);
  const panel = el('div', {class: 'panel score-panel', role: 'group', 'aria-label': 'score at a threshold'},
    el('div', {class: 'now'},
      el('p', {class: 'what'}, part.name),
      el('p', {class: 'figure'}, number), change, caption,
      part.controls, data.hasScores && thresholdSlider(part.slider), part.facts),
    curve && el('figure', {class: 'curve-box'},
      el('figcaption', {}, `${part.name} against the threshold`, el('small', {}, ' drag the marker')),
      el('div', {}, curve), el('small', {class: 'quiet'}, part.curveNote || '')),
    part.table);
  update();
  return panel;
}

// A slider with buttons of the same size for keyboard, finger and mouse; all sliders of the page move together.
function thresholdSlider(name) {
  const [low, high] = model.range;
  const slider = el('input', {
    type: 'range', min: low, max: high, step: 'any', 'aria-label': name,
    oninput: () => setThreshold(roundedThreshold(slider.valueAsNumber)),
    onkeydown: event => {
      const steps = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10}[event.key];
      if (steps === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      stepThreshold(event.shiftKey ? 10 * steps : steps);
    },
  });
  const field = el('input', {
    type: 'number', min: low, max: high, step: 'any', 'aria-label': `${name}, as a number`, class: 'exact',
    onchange: () => {
      setThreshold(field.valueAsNumber);
      field.value = formatThreshold(state.threshold);
    },
  });
  const reset = el('button', {
    class: 'plain', type: 'button', title: 'back to the threshold of the file',
    onclick: () => setThreshold(initialThreshold),
  }, 'reset');
  const update = () => {
    slider.value = state.threshold;
    slider.style.setProperty('--done', `${100 * (state.threshold - low) / (high - low)}%`);
    slider.setAttribute('aria-valuetext', formatThreshold(state.threshold));
    if (document.activeElement !== field) field.value = formatThreshold(state.threshold);
    reset.disabled = state.threshold === initialThreshold;
  };
  listen('threshold', update);
  update();
  return el('div', {class: 'threshold'}, el('span', {class: 'name'}, name), slider, field, reset);
}

// Score and counts of a rule that matches objects.
function countsPart() {
  const initial = model.scoreAt(initialThreshold);
  const {levels, unit, hours} = data.live;
  const levelName = level => (unit === 'IoU' ? `IoU ${formatThreshold(level)}` : `${formatThreshold(level)} ${unit}`);
  const cells = {};
  const row = (name, key) => {
    cells[key] = levels.map(() => el('td', {class: 'n'}));
    return el('tr', {}, el('th', {scope: 'row'}, name), ...cells[key]);
  };
  const headCell = level => el('th', {class: 'n', scope: 'col'}, levelName(level));
  const best = bestThreshold();
  const facts = factList(['precision', 'recall', ...(hours ? ['per hour'] : []), data.noun[1]]);
  return {
    name: data.scoreName,
    slider: 'score threshold',
    format: value => formatScore(value),
    change: value => difference(value, initial, 4),
    caption: () => `official ${data.scoreName} at ${formatThreshold(initialThreshold)}: ${formatScore(initial)}`,
    curveNote: best && `Best on these ${data.medium}s: ${formatScore(best[1])} at ${formatThreshold(best[0])}.`,
    facts: facts.list,
    table: el('div', {class: 'scroll counts'}, el('table', {class: levels.length < 4 && 'few'},
      el('thead', {}, el('tr', {}, el('th', {}, 'at'), ...levels.map(headCell))),
      el('tbody', {}, row('hits (TP)', 'tp'), row('false positives (FP)', 'fp'), row('misses (FN)', 'fn')))),
    update() {
      const counts = model.countsAt(state.threshold);
      for (const key of ['tp', 'fp', 'fn']) {
        counts[key].forEach((count, level) => { cells[key][level].textContent = formatCount(count); });
      }
      const [tp, fp, fn] = [counts.tp[0], counts.fp[0], counts.fn[0]];
      facts.set('precision', formatPercent(tp / (tp + fp)), `precision at ${levelName(levels[0])}`);
      facts.set('recall', formatPercent(tp / (tp + fn)), `recall at ${levelName(levels[0])}`);
      if (hours) facts.set('per hour', (fp / hours).toPrecision(3), 'false positives per hour');
      facts.set(data.noun[1], formatCount(model.predictionsAt(state.threshold)), `predicted ${data.noun[1]}`);
    },
  };
}

// Top-k error among the items that are not rejected.
function labelsPart() {
  const buttons = Array.from({length: data.live.k}, (_, at) => el('button', {
    type: 'button', class: 'chip', onclick: () => { state.k = at + 1; announce('k'); announce('threshold'); },
  }, `top ${at + 1}`));
  const facts = factList(['accepted', 'right', 'wrong', 'rejected']);
  return {
    name: 'error among accepted',
    slider: 'reject below probability',
    format: value => formatScore(value),
    change: value => difference(value, model.scoreAt(initialThreshold), 4),
    caption: () => `top-${state.k} error at ${formatThreshold(initialThreshold)}: `
      + formatScore(model.scoreAt(initialThreshold)),
    controls: el('div', {class: 'chips', role: 'group', 'aria-label': 'how many labels count'}, ...buttons),
    facts: facts.list,
    update() {
      const counts = model.countsAt(state.threshold);
      buttons.forEach((button, at) => button.setAttribute('aria-pressed', String(state.k === at + 1)));
      const accepted = formatPercent(counts.accepted / counts.items);
      facts.set('accepted', accepted, `of ${plural(counts.items, data.medium)} accepted`);
      for (const key of ['right', 'wrong', 'rejected']) facts.set(key, formatCount(counts[key]), key);
    },
  };
}

// Without a score: how much is predicted.
function totalsPart() {
  const facts = factList(['share']);
  const labels = data.geometry === 'labels';
  return {
    name: labels ? `${data.medium}s with a label` : `predicted ${data.noun[1]}`,
    slider: labels ? 'reject below probability' : 'score threshold',
    format: formatCount,
    change: value => difference(value, model.scoreAt(initialThreshold), 0),
    caption: () => (model.shownOnly
      ? `on the ${plural(data.scenes.length, data.medium)} below`
      : `on ${plural(data.items.id.length, data.medium)}`),
    facts: facts.list,
    update() {
      const {predictions, all} = model.countsAt(state.threshold);
      facts.set('share', formatPercent(predictions / all), `of ${formatCount(all)} on this page`);
    },
  };
}

function factList(names) {
  const cells = Object.fromEntries(names.map(name => [name, el('div', {}, el('b'), el('span'))]));
  return {
    list: el('div', {class: 'live-facts'}, ...Object.values(cells)),
    set(name, value, text) {
      cells[name].firstChild.textContent = value;
      cells[name].lastChild.textContent = text;
    },
  };
}

// The difference to the initial value, as an arrow and a word beside the colour.
function difference(value, initial, digits) {
  const change = value - initial;
  if (!Number.isFinite(change) || Math.abs(change) < 0.5 * 10 ** -digits) return ['as in the file'];
  const text = `${change > 0 ? '▲ +' : '▼ −'}${Math.abs(change).toFixed(digits)}`;
  if (model.kind === 'totals') return [text];
  const better = (change > 0) === (data.better !== 'lower');
  return [el('span', {class: better ? 'up' : 'down'}, text), better ? ' better' : ' worse'];
}

// The best position of the slider, of those that the curve shows.
function bestThreshold() {
  const [low, high] = model.range;
  const sign = data.better === 'lower' ? -1 : 1;
  let best = null;
  for (let at = 0; at <= 1000; at++) {
    const threshold = roundedThreshold(low + (high - low) * at / 1000);
    const value = model.scoreAt(threshold);
    if (Number.isFinite(value) && (best === null || sign * value > sign * best[1] + 1e-12)) best = [threshold, value];
  }
  return best;
}
