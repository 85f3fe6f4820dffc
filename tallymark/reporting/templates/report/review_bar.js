// Progress of the review, and its corrections file: download, load, forget.
function reviewBar() {
  const progress = el('progress', {max: Math.max(1, data.scenes.length), 'aria-label': 'reviewed'});
  const text = el('span', {role: 'status'});
  const file = el('input', {
    type: 'file', accept: '.json,application/json', class: 'hidden-file', tabindex: -1, 'aria-hidden': 'true',
    onchange: async () => {
      const chosen = file.files[0];
      if (chosen) text.textContent = await loadCorrections(chosen);
      file.value = '';
    },
  });
  const download = el('button', {type: 'button', class: 'primary', onclick: downloadCorrections},
    'Download corrections');
  const load = el('button', {type: 'button', onclick: () => file.click()}, 'Load');
  const forget = el('button', {type: 'button', onclick: () => {
    if (forget.dataset.sure) {
      marks.clear();
      keepMarks();
    } else {
      forget.dataset.sure = 'yes';
      forget.textContent = 'Really forget all marks?';
    }
  }}, 'Forget');
  forget.addEventListener('blur', () => update());
  const update = () => {
    const complete = data.scenes.filter(isComplete).length;
    const count = [...marks.values()].reduce((sum, own) => sum + countMarks(own), 0);
    progress.value = complete;
    const all = plural(data.scenes.length, sceneNoun());
    text.textContent = `${formatCount(complete)} of ${all} complete · ${plural(count, 'mark')}`;
    download.disabled = forget.disabled = complete + count === 0;
    delete forget.dataset.sure;
    forget.textContent = 'Forget';
  };
  listen('marks', update);
  update();
  return el('div', {class: 'review-bar', role: 'group', 'aria-label': 'review'},
    el('b', {}, 'Review'), progress, text, el('span', {class: 'buttons'}, download, load, forget, file,
      el('button', {type: 'button', class: 'plain', onclick: () => help.showModal()}, 'keys ', el('kbd', {}, '?'))));
}

// Reads a corrections file; the answer says what came of it.
async function loadCorrections(chosen) {
  try {
    const count = readCorrections(await chosen.text());
    keepMarks();
    return `Marks of ${plural(count, data.medium)} are loaded.`;
  } catch (wrong) {
    return `${chosen.name} was not loaded. ${wrong.message}`;
  }
}

function downloadCorrections() {
  const text = `${JSON.stringify(correctionsFile(), null, 1)}\n`;
  const address = URL.createObjectURL(new Blob([text], {type: 'application/json'}));
  const link = el('a', {href: address, download: 'corrections.json'});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
