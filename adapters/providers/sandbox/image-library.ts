import sharp from 'sharp';

/**
 * These hold for the process, and each thread that loads the library sets them back: what was decoded is not kept for
 * the next to ask, and a picture is worked on by one thread, as more of them hold more rows.
 */
sharp.cache(false);
sharp.concurrency(1);

export { sharp };
