import { createRequire } from 'node:module';
import type { TopLevelDomains } from '../../core/ports/machine.js';

const tlds = createRequire(import.meta.url)('tlds') as readonly string[];

/** Names that no registry sells, and that machines resolve in networks of their own (RFC 2606, 6761, 6762, 7686, 9476). */
const SPECIAL_USE = [
  'alt',
  'corp',
  'example',
  'home',
  'internal',
  'invalid',
  'lan',
  'local',
  'localhost',
  'onion',
  'test',
];

const NAMES = new Set([...tlds, ...SPECIAL_USE]);

/** The list of IANA, as of the installed package, and names for special use. */
export const TOP_LEVEL_DOMAINS: TopLevelDomains = {
  has: (name) => NAMES.has(name) || name.startsWith('xn--'),
};
