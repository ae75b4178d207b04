import type { ConsoleOperation } from './console-operation.js';
import { createKey, listApps, listKeys, listUsableApps, revokeKey } from './keys-and-apps.js';
import { findGeneration, getInput, getOverview } from './overview.js';
import {
  disconnect,
  endOtherSessions,
  endSession,
  listConnections,
  listSessionsListSessions as listSessions,
} from './sessions-and-connections.js';
import {
  addPasskey,
  beginPasskey,
  changePassword,
  linkIdentity,
  listIdentities,
  listPasskeys,
  removePasskey,
  renamePasskey,
  unlinkIdentity,
} from './sign-in-ways.js';

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
