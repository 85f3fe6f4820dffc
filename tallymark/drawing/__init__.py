"""Drawing: annotations, spectrograms and point clouds as RGB images, and charts as SVG."""
