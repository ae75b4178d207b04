import type * as Ajv from 'ajv/dist/2020.js';
import { lazyPackage } from '../lazy-package.js';

/** Loaded for the first schema: a client command checks none. */
export const ajv = lazyPackage<typeof Ajv>('ajv/dist/2020.js');
