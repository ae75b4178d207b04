import type { Boot } from './boot.js';
import type { Cancellation } from './cancellation.js';
import { AccountWriter } from './credits/account-writer.js';
import { UnchargedSums } from './generation/uncharged-sums.js';
import type { Log } from './log.js';
import type { Ports } from './ports/tokens.js';
import type { Settings } from './settings.js';

/** What use cases work with: the ports, the operator's numbers, the writer all money goes through, sums read lately, and a log. */
export interface Context extends Ports {
  readonly settings: Settings;
  readonly accountWriter: AccountWriter;
  readonly unchargedSums: UnchargedSums;
  readonly log: Log;
  /** This process's life, which its leases and claims carry. */
  readonly boot: Boot;
  /**
   * The call that a use case is carried out for, where there is one that may be given up. Reads end with it. What has begun to
   * write goes on to its end: a claim or a hold left in the middle would keep the key, or the credits, until recovery comes by.
   */
  readonly call?: Cancellation | undefined;
}

/**
 * The context all use cases of one process share: one writer, so that an account's commands meet in it. Without a boot it is
 * one process of several.
 */
export function createContext(ports: Ports, settings: Settings, log: Log, boot: Boot = { id: ports.ids.uuid(), isExclusive: false }): Context {
  return { ...ports, settings, log, boot, accountWriter: new AccountWriter(ports), unchargedSums: new UnchargedSums(ports) };
}
