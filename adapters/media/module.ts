import { TOKENS } from '../../core/ports/tokens.js';
import { provideModule } from '../provide.js';
import { SharpMediaProbe, type SharpMediaProbeOptions } from './sharp-media-probe.js';
import { SharpPreviews } from './sharp-previews.js';

/** Looks at images with sharp and at videos with mediabunny, and makes previews with sharp. */
export function mediaModule(options: SharpMediaProbeOptions) {
  return provideModule((provide) => {
    provide(TOKENS.mediaProbe, [], () => new SharpMediaProbe(options));
    provide(TOKENS.previews, [], () => new SharpPreviews(options));
  });
}
