// The labels of an item in the order of their probabilities; in a review one of them, or another class, is chosen.
function makeRanking(scene) {
  const rows = el('ol', {class: 'ranking', 'aria-label': 'predicted labels'});
  const other = el('select', {'aria-label': 'the right class', onchange: () => {
    if (other.value) choose(data.classes[Number(other.value)]);
  }}, el('option', {value: ''}, 'another class…'), ...data.classes.map((name, at) => el('option', {value: at}, name)));
  const choose = name => setLabel(scene, 'right', name);

  function update() {
    const chosen = marks.get(scene.id)?.label ?? null;
    rows.replaceChildren(...scene.ranking.map((one, at) => {
      const share = one.probability ?? null;
      const marked = chosen?.label === one.name;
      return el('li', {class: one.right ? 'right' : ''}, el('button', {
        type: 'button', 'aria-pressed': String(marked && chosen.verdict === 'right'), title: `choose (${at + 1})`, onclick: () => choose(one.name),
      },
      el('span', {class: 'name'}, `${one.name} `, one.right && el('small', {}, 'truth'), marked && el('small', {class: `verdict ${chosen.verdict}`}, VERDICTS[chosen.verdict])),
      el('span', {class: 'share'}, share === null ? '' : formatPercent(share)),
      el('span', {class: 'bar'}, el('i', {style: `width:${(100 * Math.min(1, Math.max(0, share ?? 0))).toFixed(1)}%`}))));
    }));
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

// The label that a verdict on the item is about: the truth, else the first prediction.
function statedLabel(scene) {
  return (scene.ranking.find(one => one.right) || scene.ranking[0])?.name ?? null;
}
