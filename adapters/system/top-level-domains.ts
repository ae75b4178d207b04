import { createRequire } from 'node:module';
import type { TopLevelDomains } from '../../core/ports/machine.js';

const tlds = createRequire(import.meta.url)('tlds') as readonly string[];

/**
 * Names that no registry sells, and that machines resolve in networks of their own: those of RFC 2606, 6761, 6762 (with
 * its appendix G), 7686 and 9476, `localdomain` of many routers and systems, and `svc` of Kubernetes.
 */
const SPECIAL_USE = [
  'alt',
  'corp',
  'example',
  'home',
  'internal',
  'intranet',
  'invalid',
  'lan',
  'local',
  'localdomain',
  'localhost',
  'onion',
  'private',
  'svc',
  'test',
];

const NAMES = new Set([...tlds, ...SPECIAL_USE]);

/** The list of IANA, as of the installed package, and names for special use. */
export const TOP_LEVEL_DOMAINS: TopLevelDomains = {
  has: (name) => NAMES.has(name) || name.startsWith('xn--'),
};
