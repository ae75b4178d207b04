import type * as Yaml from 'yaml';
import { lazyPackage } from '../lazy-package.js';

/** Loaded for the first file: a client command reads none. */
export const yaml = lazyPackage<typeof Yaml>('yaml');
