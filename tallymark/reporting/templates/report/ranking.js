// The labels of an item in the order of their probabilities; in a review one of them, or another class, is chosen.
function makeRanking(scene) {
  const rows = el('ol', {class: 'ranking', 'aria-label': 'predicted labels'});
  const options = data.classes.map((name, at) => el('option', {value: at}, name));
  const other = el('select', {'aria-label': 'the right class', onchange: () => {
    if (other.value) choose(data.classes[Number(other.value)]);
  }}, el('option', {value: ''}, 'another class…'), ...options);
  const choose = name => setLabel(scene, name === statedLabel(scene) ? 'right' : 'wrong', name);

  function update() {
    const chosen = marks.get(scene.id)?.label ?? null;
    const focused = [...rows.querySelectorAll('button')].indexOf(document.activeElement);
    const stated = statedLabel(scene);
    rows.replaceChildren(...scene.ranking.map((one, at) => {
      const isRight = chosen?.label === one.name;
      const verdict = isRight ? 'right' : chosen && one.name === stated ? chosen.verdict : null;
      return rankingRow(one, at, verdict, () => choose(one.name));
    }));
    rows.querySelectorAll('button')[focused]?.focus();
    const at = data.classes.indexOf(chosen?.label);
    other.value = at < 0 ? '' : String(at);
  }
  return {
    node: el('div', {class: 'list'}, rows, el('label', {class: 'other'}, 'right class ', other)),
    update,
    mark() {},
    actions: {choose: at => { if (scene.ranking[at]) choose(scene.ranking[at].name); }},
  };
}

function rankingRow(one, at, verdict, onclick) {
  const share = Math.min(1, Math.max(0, one.probability ?? 0));
  return el('li', {class: one.right && 'right'}, el('button', {
    type: 'button', 'aria-pressed': String(verdict === 'right'), title: `the right one (${at + 1})`, onclick,
  },
  el('span', {class: 'name'}, `${one.name} `, one.right && el('small', {}, 'truth'),
    verdict && el('small', {class: `verdict ${verdict}`, 'aria-label': `marked ${verdict}`}, VERDICTS[verdict])),
  el('span', {class: 'share'}, (one.probability ?? null) === null ? '' : formatPercent(one.probability)),
  el('span', {class: 'bar'}, el('i', {style: `width:${(100 * share).toFixed(1)}%`}))));
}

// The label that a verdict on the item is about: the truth, else the first prediction.
function statedLabel(scene) {
  return (scene.ranking.find(one => one.right) || scene.ranking[0])?.name ?? null;
}
