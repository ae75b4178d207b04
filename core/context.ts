import { AccountDesk } from './credits/account-desk.js';
import type { Log } from './log.js';
import type { Ports } from './ports/tokens.js';
import type { Settings } from './settings.js';

/** What use cases work with: the ports, the operator's numbers, the desk all money goes through, and a log. */
export interface Context extends Ports {
  readonly settings: Settings;
  readonly desk: AccountDesk;
  readonly log: Log;
}

/** The context all use cases of one process share: one desk, so that an account's commands meet in it. */
export function createContext(ports: Ports, settings: Settings, log: Log): Context {
  return { ...ports, settings, log, desk: new AccountDesk(ports) };
}
