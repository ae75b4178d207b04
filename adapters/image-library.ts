import { isMainThread } from 'node:worker_threads';
import sharp from 'sharp';

/**
 * All loaders of libvips except those three are blocked for the whole process: SVG, PDF, TIFF and the like are never
 * parsed, whatever a file claims to be. Only the main thread does it, before anything is decoded: between the two calls
 * nothing could be read, also in other threads.
 */
if (isMainThread) {
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: ['VipsForeignLoadPngBuffer', 'VipsForeignLoadJpegBuffer', 'VipsForeignLoadWebpBuffer'] });
}

/**
 * These hold for the process, and each thread that loads the library sets them back: decoded pictures are not cached, and
 * a picture is decoded by one thread, as each further thread holds more rows.
 */
sharp.cache(false);
sharp.concurrency(1);

export { sharp };
