import type { ConsoleOperation } from './console-operation.js';
import { addPasskey } from './operations/add-passkey.js';
import { beginPasskey } from './operations/begin-passkey.js';
import { changePassword } from './operations/change-password.js';
import { createKey } from './operations/create-key.js';
import { disconnect } from './operations/disconnect.js';
import { endOtherSessions } from './operations/end-other-sessions.js';
import { endSession } from './operations/end-session.js';
import { findGeneration } from './operations/find-generation.js';
import { getInput } from './operations/get-input.js';
import { getOverview } from './operations/get-overview.js';
import { linkIdentity } from './operations/link-identity.js';
import { listApps } from './operations/list-apps.js';
import { listConnections } from './operations/list-connections.js';
import { listIdentities } from './operations/list-identities.js';
import { listKeys } from './operations/list-keys.js';
import { listPasskeys } from './operations/list-passkeys.js';
import { listSessions } from './operations/list-sessions.js';
import { listUsableApps } from './operations/list-usable-apps.js';
import { removePasskey } from './operations/remove-passkey.js';
import { renamePasskey } from './operations/rename-passkey.js';
import { revokeKey } from './operations/revoke-key.js';
import { unlinkIdentity } from './operations/unlink-identity.js';

/** Everything that the page asks of its server, under `/console/api`. */
export const CONSOLE_OPERATIONS: readonly ConsoleOperation[] = [
  getOverview,
  findGeneration,
  getInput,
  listApps,
  listUsableApps,
  listKeys,
  createKey,
  revokeKey,
  listConnections,
  disconnect,
  listSessions,
  endSession,
  endOtherSessions,
  changePassword,
  listPasskeys,
  beginPasskey,
  addPasskey,
  renamePasskey,
  removePasskey,
  listIdentities,
  linkIdentity,
  unlinkIdentity,
];
