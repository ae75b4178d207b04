import type { Ports } from '../../core/ports/ports.js';
import { provideModule } from '../provide.js';
import { SharpMediaProbe, type SharpMediaProbeOptions } from './sharp-media-probe.js';
import { SharpPreviews } from './sharp-previews.js';
import { StreamingMediaCleaner } from './streaming-media-cleaner.js';

/** Looks at images with sharp and at videos with mediabunny, makes previews with sharp, and removes metadata. */
export function mediaModule(options: SharpMediaProbeOptions) {
  return provideModule<Ports>((provide) => {
    provide('mediaProbe', [], () => new SharpMediaProbe(options));
    provide('mediaCleaner', [], () => new StreamingMediaCleaner());
    provide('previews', [], () => new SharpPreviews(options));
  });
}
