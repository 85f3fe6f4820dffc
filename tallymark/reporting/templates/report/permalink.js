// Permalinks: `#item=KEY&t=0.43` names an item and a threshold, and restores both.
const WRITE_AFTER = 250; // milliseconds: browsers allow few changes of the address in a second

function permalink(scene, threshold = null) {
  const parts = [];
  if (scene) parts.push(`item=${encodeURIComponent(scene.key)}`);
  if (threshold !== null) parts.push(`t=${formatThreshold(threshold)}`);
  return `#${parts.join('&')}`;
}

// Other fragments are anchors of the page's sections, which are left alone.
function readPermalink() {
  const named = new URLSearchParams(location.hash.slice(1));
  if (!named.has('item') && !named.has('t')) return null;
  const threshold = Number.parseFloat(named.get('t'));
  return {scene: data.scenes.find(scene => scene.key === named.get('item')) || null, threshold};
}

function followPermalink() {
  const go = () => {
    const named = readPermalink();
    if (!named) {
      if (!location.hash) viewer.close();
      return;
    }
    if (Number.isFinite(named.threshold)) setThreshold(named.threshold);
    if (named.scene) viewer.open(named.scene);
    else viewer.close();
  };
  let waiting = null;
  listen('threshold', () => {
    clearTimeout(waiting);
    waiting = setTimeout(writePermalink, WRITE_AFTER);
  });
  window.addEventListener('hashchange', go);
  go();
}

function writePermalink() {
  const moved = state.threshold !== initialThreshold;
  if (!state.scene && !moved && !readPermalink()) return;
  const address = permalink(state.scene, moved || state.scene ? state.threshold : null);
  try {
    history.replaceState(null, '', address);
  } catch {
    // Some browsers refuse this for files: the page works without it.
  }
}
