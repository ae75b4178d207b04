import type * as Undici from 'undici';
import { lazyPackage } from '../lazy-package.js';

/** Loaded for the first outgoing request. */
export const undici = lazyPackage<typeof Undici>('undici');
