/**
 * The pages that load after the first one. A single file of scripts compresses better than many, and the browser caches it
 * for all pages of a developer. What the first page loads is one file for the same reason: the build puts modules together that
 * the same entries import.
 */
import './console.js';
export { AccountPage } from './account/account-page.js';
export { ConnectionsPage } from './connections/connections-page.js';
export { Opened } from './frame/palette.js';
export { GenerationPage, GenerationView } from './generations/generation-view.js';
export { KeysPage } from './keys/keys-page.js';
export { PlaygroundPage } from './playground/playground-page.js';
export { UsagePage } from './usage/usage-page.js';
export { WebhooksPage } from './webhooks/webhooks-page.js';
