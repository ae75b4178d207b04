import type { Ports } from '../../core/ports/ports.js';
import { provideModule } from '../provide.js';
import { AjvJsonSchemas } from './ajv-json-schemas.js';
import { ScryptHasher } from './scrypt-hasher.js';
import { SystemClock } from './system-clock.js';
import { SystemDigests } from './system-digests.js';
import { SystemIds } from './system-ids.js';

/**
 * The machine's own clock, randomness, digests, password hashes and JSON Schema validation. `secret` keys the digests of credentials.
 */
export function systemModule(options: { readonly secret: Uint8Array }) {
  return provideModule<Ports>((provide) => {
    provide('clock', [], () => new SystemClock());
    provide('ids', [], () => new SystemIds());
    provide('digests', [], () => new SystemDigests(options));
    provide('jsonSchemas', [], () => new AjvJsonSchemas());
    provide('passwords', [], () => new ScryptHasher());
  });
}
