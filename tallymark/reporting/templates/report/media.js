// What a scene has beside its picture: sound, points in 3D, and camera images with the outlines of its objects.
function makeMedia(scene, stage) {
  const below = el('div', {class: 'below'});
  const space = el('div', {class: 'space', hidden: true});
  const views = el('div', {class: 'views chips', role: 'group', 'aria-label': 'view', hidden: true});
  const cameras = scene.cameras.map(cameraView);
  let sound = null, points = null, visible = [], turn = () => {};
  const selectedIndex = () => selectedObject(scene)?.index ?? null;

  if (scene.sound && typeof mountSound === 'function') {
    const place = el('div', {class: 'sound'});
    below.append(place);
    sound = mountSound(place, scene, {image: stage.svg, selected: null});
  }
  if (scene.points && typeof mountPoints === 'function') {
    const flat = el('button', {type: 'button', class: 'chip', onclick: () => turn(false)}, 'from above');
    const deep = el('button', {type: 'button', class: 'chip', onclick: () => turn(true)}, 'in 3D');
    turn = on => {
      flat.setAttribute('aria-pressed', String(!on));
      deep.setAttribute('aria-pressed', String(on));
      stage.node.hidden = on;
      space.hidden = !on;
      if (on) {
        points ??= mountPoints(space, scene, visible, {
          selected: selectedIndex(),
          onSelect: index => select(index === null ? null : objectId(scene.objects[index]), true),
          describe: object => describe(scene, object).map(part => part.textContent).join(' '),
        });
        update(visible);
      }
    };
    views.append(flat, deep);
    views.hidden = false;
    turn(false);
  }
  if (cameras.length > 0) below.append(el('div', {class: 'cameras'}, ...cameras.map(camera => camera.node)));
  function update(objects) {
    visible = objects.filter(object => object.role !== 'added');
    sound?.update(visible, selectedIndex());
    points?.update(visible, selectedIndex());
    for (const camera of cameras) camera.draw(visible);
  }
  return {
    views: el('div', {class: 'views-line'}, views, space), below, update,
    turn: deep => turn(deep),
    play: () => sound?.toggle(),
    select: () => update(visible),
    destroy() {
      sound?.destroy();
      points?.destroy();
    },
  };
}

function cameraView(camera) {
  const overlay = svgEl('svg', {viewBox: `0 0 ${camera.width} ${camera.height}`, 'aria-hidden': 'true'});
  return {
    node: el('figure', {class: 'camera'},
      el('div', {class: 'picture', style: `aspect-ratio:${camera.width}/${camera.height}`},
        el('img', {src: camera.image, alt: `camera ${camera.name}`, loading: 'lazy'}), overlay),
      el('figcaption', {}, camera.name)),
    draw(objects) {
      const shown = new Map(objects.map(object => [object.index, object]));
      overlay.replaceChildren(...camera.paths.filter(one => shown.has(one.object)).map(one => {
        const object = shown.get(one.object);
        const selected = objectId(object) === state.selected;
        return svgEl('g', {class: selected && 'selected'}, ...strokes(one.path, object.outcome));
      }));
    },
  };
}
