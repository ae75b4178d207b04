import { TOKENS } from '../../core/ports/ports.js';
import { provideModule } from '../provide.js';
import { SharpMediaProbe, type SharpMediaProbeOptions } from './sharp-media-probe.js';
import { SharpPreviews } from './sharp-previews.js';
import { StreamingMediaCleaner } from './streaming-media-cleaner.js';

/** Looks at images with sharp and at videos with mediabunny, makes previews with sharp, and removes metadata. */
export function mediaModule(options: SharpMediaProbeOptions) {
  return provideModule((provide) => {
    provide(TOKENS.mediaProbe, [], () => new SharpMediaProbe(options));
    provide(TOKENS.mediaCleaner, [], () => new StreamingMediaCleaner());
    provide(TOKENS.previews, [], () => new SharpPreviews(options));
  });
}
