// The review of a scene: verdicts on the selected object, missed objects that are added, and whether all is marked.
function makeReview(scene, setGesture) {
  const geometry = (scene.toItem && GEOMETRIES[data.geometry]) || null;
  const hint = el('p', {class: 'quiet hint', role: 'status'});
  const button = (text, key, onclick) => el('button', {type: 'button', onclick}, text, ' ', el('kbd', {}, key));
  const verdictButton = name => button(name, name[0], () => judge(name));
  const verdicts = Object.fromEntries(Object.keys(VERDICTS).map(name => [name, verdictButton(name)]));
  const clear = button('clear', '0', () => judge(null));
  const complete = button('complete', 'c', toggleComplete);
  const adding = geometry && button('add missed', 'a', () => setAdding(!active));
  const classes = geometry && data.classes.length > 1 && el('select', {'aria-label': 'class of the added one'},
    ...data.classes.map((name, at) => el('option', {value: at}, name)));
  let active = false;

  function judge(verdict) {
    if (scene.ranking) {
      setLabel(scene, verdict, verdict === 'right' ? statedLabel(scene) : null);
      return;
    }
    const object = selectedObject(scene);
    if (!object) {
      hint.textContent = `Select ${article(data.noun[0])} first: j and k go through the list.`;
      hint.hidden = false;
    } else if (object.role !== 'added') setVerdict(scene, object, verdict);
    else if (verdict === null || verdict === 'wrong') {
      state.selected = null;
      removeMissed(scene, object.number);
    }
  }
  function toggleComplete() {
    setComplete(scene, !isComplete(scene));
  }
  function setAdding(on) {
    active = on;
    setGesture(active ? geometry.gesture : null);
    update();
  }
  function add(from, to) {
    const label = classes ? Number(classes.value) : data.classes.length === 1 ? 0 : null;
    const shape = geometry.shapeOf(scene, from, to, label);
    if (geometry.accepts(shape)) addMissed(scene, shape, label);
    setAdding(false);
  }
  function cancel() {
    if (!active) return false;
    setAdding(false);
    return true;
  }
  function update() {
    const object = selectedObject(scene);
    const verdict = scene.ranking ? marks.get(scene.id)?.label?.verdict : object && verdictOf(scene, object);
    for (const [name, node] of Object.entries(verdicts)) node.setAttribute('aria-pressed', String(verdict === name));
    complete.setAttribute('aria-pressed', String(isComplete(scene)));
    adding?.setAttribute('aria-pressed', String(active));
    hint.textContent = active ? `${geometry.hint} Esc cancels.` : '';
    hint.hidden = !hint.textContent;
  }
  return {
    node: el('div', {class: 'scene-review', role: 'group', 'aria-label': 'review'},
      el('div', {class: 'buttons'}, ...Object.values(verdicts), clear),
      el('div', {class: 'buttons'}, adding, classes, complete), hint),
    update, add, cancel,
    actions: {judge, complete: toggleComplete, add: () => geometry && setAdding(!active)},
  };
}

function article(noun) {
  return `${/^[aeiou]/i.test(noun) ? 'an' : 'a'} ${noun}`;
}
