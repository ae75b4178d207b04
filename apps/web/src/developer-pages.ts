/** The pages that share a file of scripts: together they are smaller, and loaded once. */
export { AccountPage } from './account/account-page.js';
export { ConnectionsPage } from './connections/connections-page.js';
export { KeysPage } from './keys/keys-page.js';
export { UsagePage } from './usage/usage-page.js';
export { WebhooksPage } from './webhooks/webhooks-page.js';
