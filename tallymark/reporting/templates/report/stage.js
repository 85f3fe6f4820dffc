// The picture of a scene with its objects: zoom by wheel, pinch and keys, pan by dragging and keys, pick by a click.
const MOST_ZOOM = 40;
const STILL = 4; // pixels that a pointer may move during a click

function makeStage(scene, {pick, point, add}) {
  const svg = svgEl('svg', {class: 'stage-svg', 'aria-hidden': 'true'},
    svgEl('rect', {class: 'ground', width: scene.width, height: scene.height}),
    scene.image && svgEl('image', {href: scene.image, width: scene.width, height: scene.height}),
    svgEl('g', {class: 'outlines'}), svgEl('g', {class: 'areas'}), svgEl('g', {class: 'glyphs'}),
    svgEl('path', {class: 'drawing'}));
  const node = el('div', {class: 'stage', tabindex: 0, role: 'group', 'aria-label': `picture of ${sceneName(scene)}`},
    svg, !scene.image && el('p', {class: 'nothing'}, noPicture()));
  if (scene.window) {
    node.classList.add('spectrogram'); // no higher than it is, so that its player is right below it
    node.style.aspectRatio = `${scene.width} / ${scene.height}`;
  }
  const [outlines, areas, glyphs] = ['outlines', 'areas', 'glyphs'].map(name => svg.querySelector(`.${name}`));
  const drawing = svg.querySelector('.drawing');
  const view = {x: scene.width / 2, y: scene.height / 2, scale: 1, fitted: true};
  const pointers = new Map();
  let objects = [], adding = null, from = null, moved = 0;

  const fitScale = () => Math.min(node.clientWidth / scene.width, node.clientHeight / scene.height) || 1;
  function show() {
    if (view.fitted) Object.assign(view, {x: scene.width / 2, y: scene.height / 2, scale: fitScale()});
    const [w, h] = [node.clientWidth / view.scale, node.clientHeight / view.scale];
    svg.setAttribute('viewBox', `${view.x - w / 2} ${view.y - h / 2} ${w || 1} ${h || 1}`);
    svg.style.setProperty('--unit', 1 / view.scale);
    node.classList.toggle('magnified', view.scale > 4);
  }
  const pixelAt = event => {
    const box = svg.getBoundingClientRect();
    const [right, down] = [event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2];
    return [view.x + right / view.scale, view.y + down / view.scale];
  };
  function zoomBy(factor, around = [view.x, view.y]) {
    const least = fitScale() * 0.9;
    const scale = Math.min(fitScale() * MOST_ZOOM, Math.max(least, view.scale * factor));
    const kept = view.scale / scale;
    moveTo(around[0] + (view.x - around[0]) * kept, around[1] + (view.y - around[1]) * kept, scale);
  }
  function moveTo(x, y, scale = view.scale) {
    view.x = Math.min(scene.width, Math.max(0, x));
    view.y = Math.min(scene.height, Math.max(0, y));
    view.scale = scale;
    view.fitted = false;
    show();
  }

  node.addEventListener('wheel', event => {
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), pixelAt(event));
  }, {passive: false});
  node.addEventListener('pointerdown', event => {
    if (event.button !== 0) return;
    svg.setPointerCapture(event.pointerId); // clicks then reach the picture, which a player of sounds waits for
    pointers.set(event.pointerId, event);
    moved = 0;
    from = pixelAt(event);
  });
  node.addEventListener('pointermove', event => {
    const last = pointers.get(event.pointerId);
    if (!last) {
      point(objectAt(event), event);
      return;
    }
    const [dx, dy] = [event.clientX - last.clientX, event.clientY - last.clientY];
    moved += Math.abs(dx) + Math.abs(dy);
    const other = [...pointers.values()].find(one => one.pointerId !== event.pointerId);
    pointers.set(event.pointerId, event);
    if (other) {
      const apart = one => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
      zoomBy(apart(event) / Math.max(1, apart(last)), pixelAt(other));
    } else if (adding?.gesture === 'drag') {
      const [x, y] = pixelAt(event);
      drawing.setAttribute('d', `M${from[0]} ${from[1]}H${x}V${y}H${from[0]}Z`);
    } else if (moved > STILL) moveTo(view.x - dx / view.scale, view.y - dy / view.scale);
  });
  node.addEventListener('pointerup', event => {
    if (!pointers.delete(event.pointerId) || pointers.size > 0) return;
    drawing.removeAttribute('d');
    const still = moved <= STILL;
    if (adding && still === (adding.gesture === 'click')) add(from, pixelAt(event));
    else if (still && !adding) pick(objectAt(event));
  });
  node.addEventListener('pointercancel', event => pointers.delete(event.pointerId));
  node.addEventListener('pointerleave', event => { if (!pointers.size) point(null, event); });
  node.addEventListener('dblclick', event => { if (!adding) zoomBy(2, pixelAt(event)); });
  node.addEventListener('click', event => { if (adding) event.preventDefault(); }, true);
  new ResizeObserver(show).observe(node);

  // Captured pointers have the stage as their target, so the object is looked up by its place.
  function objectAt(event) {
    const hit = document.elementFromPoint(event.clientX, event.clientY)?.closest('.area');
    return hit && areas.contains(hit) ? objects[Number(hit.dataset.at)] : null;
  }
  function draw(visible) {
    objects = visible.filter(object => object.path);
    outlines.replaceChildren(...objects.map(object =>
      svgEl('g', {'data-id': objectId(object)}, ...strokes(object.path, object.outcome))));
    areas.replaceChildren(...objects.map((object, at) =>
      svgEl('path', {class: 'area', d: object.path, 'data-at': at})));
    const boxes = new Map([...areas.children].map(area => [area, area.getBBox()]));
    const size = area => boxes.get(area).width * boxes.get(area).height;
    const sorted = [...areas.children].sort((a, b) => size(b) - size(a));
    areas.append(...sorted); // small ones above large ones, so that each can be picked
    glyphs.replaceChildren(...sorted.map(area => {
      const verdict = verdictOf(scene, objects[Number(area.dataset.at)]);
      const box = boxes.get(area);
      return verdict && svgEl('text', {x: box.x + box.width, y: box.y, class: verdict}, VERDICTS[verdict]);
    }).filter(Boolean));
    mark();
    show();
  }
  function mark() {
    for (const group of outlines.children) group.classList.toggle('selected', group.dataset.id === state.selected);
    const selected = outlines.querySelector('.selected');
    if (selected) outlines.append(selected);
  }
  return {
    node, svg, draw, mark, zoomBy,
    panBy: (right, down) => moveTo(view.x + right * 60 / view.scale, view.y + down * 60 / view.scale),
    fit() { view.fitted = true; show(); },
    setAdding(gesture) {
      adding = gesture ? {gesture} : null;
      node.classList.toggle('adding', Boolean(adding));
      drawing.removeAttribute('d');
    },
  };
}

function objectId(object) {
  return `${object.role} ${object.number}`;
}
