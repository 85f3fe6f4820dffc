// Reads the page data: base64 into typed arrays, scenes with the facts of their items.
function decodeArray(text, Type) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return new Type(bytes.buffer);
}

function decodeEntries(entries) {
  return {
    item: decodeArray(entries.item, Int32Array),
    score: decodeArray(entries.score, Float64Array),
    levels: decodeArray(entries.levels, Uint32Array),
  };
}

function decodeLive(live) {
  if (!live) return null;
  if (live.kind === 'scores') return {...live, score: decodeArray(live.score, Float64Array)};
  if (live.kind === 'labels') {
    const probability = decodeArray(live.probability, Float64Array);
    return {...live, rank: decodeArray(live.rank, Int32Array), probability};
  }
  return {
    ...live,
    truths: decodeArray(live.truths, Int32Array),
    tp: decodeEntries(live.tp),
    fp: decodeEntries(live.fp),
    predicted: live.predicted ? decodeArray(live.predicted, Float64Array) : null,
  };
}

// What may be missing: the picture of a scene with its coordinates, and what is not known of an object.
const EMPTY_PICTURE = {width: 640, height: 480, toItem: null};
const UNKNOWN_OBJECT = {score: null, label: null, path: '', partner: null, iou: null};

function readData() {
  const data = JSON.parse(document.querySelector('script.page-data').textContent);
  data.live = decodeLive(data.live);
  data.scenes.forEach((scene, index) => {
    scene.index = index;
    scene.id = data.items.id[scene.item];
    scene.group = data.items.group ? data.items.group[scene.item] : null;
    scene.image = isImage(scene.image) ? scene.image : null;
    scene.cameras = (scene.cameras || []).filter(camera => isImage(camera.image));
    if (!scene.toItem) Object.assign(scene, EMPTY_PICTURE);
    scene.objects = scene.objects.map((object, at) => ({...UNKNOWN_OBJECT, ...object, index: at}));
  });
  return data;
}

function isImage(source) {
  return typeof source === 'string' && source.startsWith('data:image/');
}
