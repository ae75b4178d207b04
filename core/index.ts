export * from './errors.js';
export * from './json.js';
export type * from './ports/ports.js';
