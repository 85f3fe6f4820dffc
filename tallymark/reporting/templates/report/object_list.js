// The objects of a scene as a list, errors first, and the legend whose entries hide and show outcomes.
const LIST_ORDER = ['added', 'missed', 'background', 'class', 'localisation', 'duplicate', 'unknown', 'hit', 'found'];

function makeObjectList(scene) {
  const rows = el('ol', {class: 'objects', 'aria-label': data.noun[1]});
  const empty = el('p', {class: 'quiet'}, 'Nothing is shown at this threshold.');
  let objects = [];

  function update(visible) {
    const focused = rows.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    objects = [...visible].sort((a, b) => LIST_ORDER.indexOf(a.outcome) - LIST_ORDER.indexOf(b.outcome)
      || (b.score ?? 0) - (a.score ?? 0) || a.number - b.number);
    rows.replaceChildren(...objects.map(object => el('li', {}, objectRow(scene, object))));
    empty.hidden = objects.length > 0;
    if (focused) buttonOf(focused)?.focus({preventScroll: true});
    mark();
  }
  const buttonOf = id => [...rows.querySelectorAll('button')].find(button => button.dataset.id === id);
  function mark() {
    for (const button of rows.querySelectorAll('button')) {
      const current = button.dataset.id === state.selected;
      button.classList.toggle('current', current);
      button.setAttribute('aria-pressed', String(current));
    }
  }
  function move(by) {
    if (objects.length === 0) return;
    const at = objects.findIndex(object => objectId(object) === state.selected);
    const next = at < 0 ? (by > 0 ? 0 : objects.length - 1) : (at + by + objects.length) % objects.length;
    buttonOf(objectId(objects[next])).focus();
  }
  return {node: el('div', {class: 'list'}, rows, empty), update, mark, actions: {move}};
}

function objectRow(scene, object) {
  const id = objectId(object);
  const verdict = verdictOf(scene, object);
  return el('button', {type: 'button', 'data-id': id, onfocus: () => select(id, true), onclick: () => select(id)},
    swatch(object.outcome), ...describe(scene, object),
    verdict && el('span', {class: `verdict ${verdict}`, 'aria-label': `marked ${verdict}`}, VERDICTS[verdict]));
}

function makeLegend(scene) {
  const node = el('div', {class: 'chips legend-chips', role: 'group', 'aria-label': 'shown outcomes'});
  function update(objects) {
    const focused = node.contains(document.activeElement) ? document.activeElement.dataset.outcome : null;
    const counts = countOutcomes(objects);
    const kinds = Object.keys(OUTCOMES).filter(outcome => counts[outcome] > 0);
    node.replaceChildren(...kinds.map(outcome => el('button', {
      type: 'button', class: 'chip', 'data-outcome': outcome, 'aria-pressed': String(!state.hidden.has(outcome)),
      onclick: () => toggleOutcomes([outcome]),
    }, swatch(outcome), `${outcomeName(outcome, counts[outcome])} `, el('b', {}, formatCount(counts[outcome])))));
    node.hidden = Boolean(scene.ranking);
    if (focused) node.querySelector(`[data-outcome="${focused}"]`)?.focus();
  }
  return {node, update};
}

// Hides the outcomes if any of them is visible, else shows them.
function toggleOutcomes(outcomes) {
  const visible = outcomes.some(outcome => !state.hidden.has(outcome));
  for (const outcome of outcomes) {
    if (visible) state.hidden.add(outcome);
    else state.hidden.delete(outcome);
  }
  announce('hidden');
}

function toggleRole(role) {
  const known = Object.keys(OUTCOMES).filter(outcome => outcome !== 'added');
  toggleOutcomes(known.filter(outcome => TRUTH_OUTCOMES.has(outcome) === (role === 'truth')));
}
