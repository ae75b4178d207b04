/** A server that the supervisor is to start and to end. */
export interface ServerOrder {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly folder: string;
  /** The server's output is appended to this file. */
  readonly logFile: string;
  /** The signal that ends it when no process needs it; for data that is kept, a signal for an orderly shutdown. */
  readonly endSignal: NodeJS.Signals;
  /** The user that runs it; the user that runs the tests when absent. */
  readonly user?: SystemUser;
}

/** The ids of a user of this machine, and of the group. */
export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

/** A message to the supervisor. */
export interface StartMessage {
  readonly start: number;
  readonly order: ServerOrder;
}

/** A message from the supervisor. */
export type SupervisorMessage =
  | { readonly type: 'ready'; readonly scratch: string }
  | { readonly type: 'started'; readonly start: number; readonly pid: number }
  | { readonly type: 'refused'; readonly start: number; readonly reason: string }
  | {
      readonly type: 'ended';
      readonly start: number;
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
    };
