// The viewer: one scene on the whole screen, with its objects, sound, points, cameras and the review.
function makeViewer() {
  const dialog = el('dialog', {class: 'viewer', 'aria-label': 'viewer'});
  let shown = null;

  function open(scene) {
    if (state.scene === scene && dialog.open) return;
    leave();
    state.scene = scene;
    state.selected = null;
    shown = showScene(scene, {close, step});
    dialog.replaceChildren(...shown.nodes);
    if (!dialog.open) dialog.showModal();
    shown.update();
    shown.stage.node.focus({focusVisible: false, preventScroll: true});
    writePermalink();
  }
  function leave() {
    shown?.destroy();
    shown = null;
  }
  function close() {
    if (dialog.open) dialog.close();
  }
  function step(by) {
    const scenes = shownScenes();
    const at = scenes.indexOf(state.scene);
    if (scenes.length > 0) open(scenes[at < 0 ? 0 : (at + by + scenes.length) % scenes.length]);
  }
  dialog.addEventListener('close', () => {
    const card = document.querySelector(`.scene[data-key="${CSS.escape(state.scene?.key ?? '')}"]`);
    leave();
    state.scene = null;
    writePermalink();
    card?.focus();
  });
  dialog.addEventListener('cancel', event => { if (shown?.cancel()) event.preventDefault(); });
  const update = onceAFrame(() => shown?.update());
  for (const topic of ['threshold', 'marks', 'hidden', 'k']) listen(topic, update);
  listen('selection', () => shown?.select());
  return {dialog, open, close, step, act: (name, ...more) => shown?.act(name, ...more)};
}

// The nodes of a scene in the viewer, and what can be done with them.
function showScene(scene, {close, step}) {
  const tip = el('div', {class: 'tip', hidden: true});
  const review = makeReview(scene, gesture => {
    stage.setAdding(gesture);
    if (gesture) media.turn(false);
  });
  const stage = makeStage(scene, {
    pick: object => select(object && objectId(object), true),
    point: (object, event) => showTip(tip, scene, object, event),
    add: (from, to) => review.add(from, to),
  });
  const list = scene.ranking ? makeRanking(scene) : makeObjectList(scene);
  const legend = makeLegend(scene);
  const media = makeMedia(scene, stage);
  const head = viewerHead(scene, {close, step});
  stage.node.append(tip);
  const actions = {
    ...review.actions,
    ...list.actions,
    zoom: stage.zoomBy,
    pan: stage.panBy,
    fit: stage.fit,
    play: media.play,
    step,
    close,
  };
  return {
    stage,
    nodes: [head, el('div', {class: 'viewer-body'},
      el('div', {class: 'viewer-pictures'}, media.views, stage.node, media.below),
      el('aside', {class: 'viewer-side'},
        data.hasScores && !scene.ranking && thresholdSlider('score threshold'), legend.node, review.node, list.node))],
    update() {
      const all = sceneObjects(scene);
      const visible = all.filter(object => !state.hidden.has(object.outcome));
      stage.draw(visible);
      legend.update(all);
      list.update(visible);
      review.update();
      media.update(visible);
    },
    select() {
      stage.mark();
      list.mark();
      review.update();
      media.select();
    },
    cancel: review.cancel,
    act: (name, ...more) => actions[name]?.(...more),
    destroy: media.destroy,
  };
}

function sceneObjects(scene) {
  return [...liveObjects(scene), ...addedObjects(scene)];
}

function selectedObject(scene) {
  return sceneObjects(scene).find(object => objectId(object) === state.selected) || null;
}

function select(id, scroll = false) {
  if (state.selected === id) return;
  state.selected = id;
  announce('selection');
  if (scroll && id) document.querySelector('.objects .current')?.scrollIntoView({block: 'nearest'});
}

function viewerHead(scene, {close, step}) {
  const scenes = shownScenes();
  const at = scenes.indexOf(scene);
  const facts = [...new Set([...scene.tags, ...scene.facts, scene.group])].filter(Boolean);
  const button = (text, label, onclick) =>
    el('button', {type: 'button', 'aria-label': label, title: label, onclick}, text);
  return el('header', {class: 'viewer-head'},
    button('‹', 'previous (p)', () => step(-1)), button('›', 'next (n)', () => step(1)),
    el('div', {class: 'title'}, el('h2', {}, sceneName(scene)), el('p', {}, facts.join(' · '))),
    el('span', {class: 'place'}, at < 0 ? '' : `${at + 1} / ${scenes.length}`),
    button('?', 'keys (?)', () => help.showModal()), button('✕', 'close (Esc)', close));
}

function showTip(tip, scene, object, event) {
  tip.hidden = !object;
  if (!object) return;
  tip.replaceChildren(...describe(scene, object));
  const box = tip.parentElement.getBoundingClientRect();
  const x = Math.min(event.clientX - box.left + 14, box.width - tip.offsetWidth - 8);
  tip.style.translate = `${Math.max(8, x)}px ${Math.max(8, event.clientY - box.top - tip.offsetHeight - 12)}px`;
}

// An object in words: outcome, class, score, and how it lies to its partner.
function describe(scene, object) {
  const partner = object.partner === null ? null : scene.objects[object.partner];
  const events = data.geometry === 'events';
  const near = events ? `${object.iou?.toFixed(2)} s apart` : `IoU ${object.iou?.toFixed(2)}`;
  const facts = [
    data.classes.length > 1 && className(object.label),
    object.score !== null && `score ${object.score.toFixed(3)}`,
    object.outcome === 'class' && partner && `truth ${className(partner.label)}`,
    events && formatClock(numbersOf(object.shape)[0]),
    object.iou !== null && near,
  ];
  return [el('b', {}, outcomeName(object.outcome, 1)), ...facts.filter(Boolean).map(fact => el('span', {}, fact))];
}
