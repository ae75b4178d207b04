import { TOKENS } from '../../core/ports/tokens.js';
import { provideModule } from '../provide.js';
import { SharpMediaProbe } from './sharp-media-probe.js';

/** Looks at images with sharp and at videos with mediabunny. */
export const mediaModule = provideModule((provide) => {
  provide(TOKENS.mediaProbe, [], () => new SharpMediaProbe());
});
