import type { Modality } from '../generation/generation.js';

const IMAGE_FORMATS = ['png', 'apng', 'jpeg', 'jpg', 'webp'];
const VIDEO_FORMATS = ['mp4', 'h264', 'x264', 'avc', 'avc1', 'av1', 'av01', 'vp9', 'vp09'];
const OTHER_CONTAINERS = 'webm avi msvideo mkv matroska mov quicktime m4v mpg mpeg mpegts flv wmv ogv'.split(' ');
const OTHER_CODECS = 'h265 x265 hevc hvc1 hev1 vvc h266 vp8 vp08 prores ffv1 mjpeg'.split(' ');
const OTHER_IMAGES = 'gif avif heic heif jxl jp2 tif tiff bmp svg pdf psd exr tga ico'.split(' ');
const OTHER_FORMATS = [...OTHER_CONTAINERS, ...OTHER_CODECS, ...OTHER_IMAGES];

/** What an output of each kind is delivered as. */
const DELIVERED: Readonly<Record<Modality, string>> = {
  image: 'an image is delivered as PNG, JPEG or WebP',
  video: 'a video is delivered as MP4 with H.264, AV1 or VP9',
};

function isDelivered(word: string, modality: Modality | undefined): boolean {
  if (OTHER_FORMATS.includes(word)) return false;
  if (modality === 'image') return !VIDEO_FORMATS.includes(word);
  return modality === undefined || !IMAGE_FORMATS.includes(word);
}

/**
 * What is wrong with a format that a driver's settings name for outputs, as one sentence; undefined where outputs can
 * have it, or where the name says nothing, as `auto` does: then each output shows it. A format is named as people and
 * programs do: `webm`, `.avi`, `video/x-matroska`, `video/mp4; codecs="hvc1"`, `h265-mp4`. Without a modality, only
 * what no output can have is refused.
 */
export function formatFault(format: string, modality?: Modality): string | undefined {
  const words = format.toLowerCase().split(/[^a-z0-9]+/);
  if (words.every((word) => isDelivered(word, modality))) return undefined;
  const delivered = modality === undefined ? `${DELIVERED.image}, ${DELIVERED.video}` : DELIVERED[modality];
  return `${JSON.stringify(format)} cannot be delivered: ${delivered}.`;
}
