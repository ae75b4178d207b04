import { TOKENS } from '../../core/ports/tokens.js';
import { provideModule } from '../provide.js';
import { SharpMediaProbe, type SharpMediaProbeOptions } from './sharp-media-probe.js';

/** Looks at images with sharp and at videos with mediabunny. */
export function mediaModule(options: SharpMediaProbeOptions) {
  return provideModule((provide) => {
    provide(TOKENS.mediaProbe, [], () => new SharpMediaProbe(options));
  });
}
