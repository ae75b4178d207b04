import { THUMBNAIL_SIDES_PX } from '../../../core/generation/generation.js';
import type { OutputThumbnails } from '../../../core/generation/thumbnails.js';
import { record, TIMESTAMP, timestamp, UUID } from './schema-parts.js';

const THUMBNAIL_SCHEMA = record('Thumbnail', {
  url: { type: 'string', description: 'Signed URL, the same for a UTC day.' },
  width: { type: 'integer', minimum: 1, description: 'In pixels.' },
  height: { type: 'integer', minimum: 1, description: 'In pixels.' },
  expires_at: { ...TIMESTAMP, description: 'When the URL stops working, unless the output is deleted before.' },
});

const OUTPUT_THUMBNAILS_SCHEMA = record('OutputThumbnails', {
  media_id: UUID,
  thumbnails: {
    type: 'array',
    description: `The smallest first; the longer side has ${THUMBNAIL_SIDES_PX.join(', ')} pixels, or as many as the output.`,
    items: THUMBNAIL_SCHEMA,
  },
});

export const THUMBNAIL_LIST_SCHEMA = record('ThumbnailList', {
  outputs: { type: 'array', items: OUTPUT_THUMBNAILS_SCHEMA },
});

export function renderThumbnails(outputs: readonly OutputThumbnails[]): object {
  return {
    outputs: outputs.map(({ mediaId, sizes, expiresAt }) => ({
      media_id: mediaId,
      thumbnails: sizes.map(({ url, widthPx: width, heightPx: height }) => {
        return { url, width, height, expires_at: timestamp(expiresAt) };
      }),
    })),
  };
}
