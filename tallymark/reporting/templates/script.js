// Enlarges an image on a click. The page is complete without it.
const dialog = document.querySelector('dialog.enlarged');
document.addEventListener('click', event => {
  if (dialog.open) {
    dialog.close();
    return;
  }
  const image = event.target.closest('.tile img');
  if (image) {
    dialog.replaceChildren(image.cloneNode());
    dialog.showModal();
  }
});
