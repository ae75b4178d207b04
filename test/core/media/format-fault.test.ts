// Goal: a format that no output can have is known by its name before anything is made, and no other is refused.
// Method: names, extensions and media types as providers write them.
import { expect } from 'chai';
import { formatFault } from '../../../core/media/image-header.js';

const CASES: readonly (readonly [format: string, image: 'taken' | 'refused', video: 'taken' | 'refused'])[] = [
  ['png', 'taken', 'refused'],
  ['JPEG', 'taken', 'refused'],
  ['.jpg', 'taken', 'refused'],
  ['image/webp', 'taken', 'refused'],
  ['mp4', 'refused', 'taken'],
  ['video/mp4', 'refused', 'taken'],
  ['video/mp4; codecs="avc1.64001f"', 'refused', 'taken'],
  ['video/mp4; codecs="hvc1.1.6.L93.B0"', 'refused', 'refused'],
  ['video/h264-mp4', 'refused', 'taken'],
  ['video/nvenc_hevc-mp4', 'refused', 'refused'],
  ['video/av1-mp4', 'refused', 'taken'],
  ['video/mp4; codecs="vp09.00.10.08"', 'refused', 'taken'],
  ['video/mp4; codecs="av01.0.04M.08"', 'refused', 'taken'],
  ['vp8', 'refused', 'refused'],
  ['webm', 'refused', 'refused'],
  ['video/webm', 'refused', 'refused'],
  ['.AVI', 'refused', 'refused'],
  ['video/x-matroska', 'refused', 'refused'],
  ['image/gif', 'refused', 'refused'],
  ['auto', 'taken', 'taken'],
  ['', 'taken', 'taken'],
  ['constructor', 'taken', 'taken'],
];

describe('formatFault', () => {
  for (const [format, image, video] of CASES) {
    it(`of "${format}": ${image} for an image, ${video} for a video`, () => {
      const answer = (modality: 'image' | 'video') =>
        formatFault(format, modality) === undefined ? 'taken' : 'refused';
      expect([answer('image'), answer('video')]).to.deep.equal([image, video]);
    });
  }

  it('without a modality refuses what no output can have, and nothing else', () => {
    const refused = CASES.filter(([format]) => formatFault(format) !== undefined).map(([format]) => format);
    expect(refused).to.deep.equal(
      CASES.filter(([, image, video]) => image === 'refused' && video === 'refused').map(([format]) => format),
    );
  });

  it('names the format and what is delivered', () => {
    expect(formatFault('webm', 'video')).to.equal(
      '"webm" cannot be delivered: a video is delivered as MP4 with H.264, AV1 or VP9.',
    );
    expect(formatFault('.avi')).to.equal(
      '".avi" cannot be delivered: an image is delivered as PNG, JPEG or WebP, a video is delivered as MP4 with H.264, AV1 or VP9.',
    );
  });
});
