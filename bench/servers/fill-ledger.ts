import type { AccountChange, AccountTotals, Attribution, Entry } from '../../core/credits/account.js';
import { answerCommands } from '../child.js';
import { createCredential, type Credential, openBenchProgram } from './program.js';

/** Fills the data folder named on the command line with one account that has a long ledger, and leaves. */
const { program } = await openBenchProgram(process.argv[2] ?? '');
const { context } = program;

const A_CHANGE = 1_000;
const MONTH_MS = 30 * 86_400_000;
const MODELS = 10;
const KEYS = 10;

export interface FilledLedger {
  readonly credential: Credential;
  readonly elapsedMs: number;
}

/** The entries of generations that were accepted and charged, each with a trace id of its own. */
function changeOf(account: AccountTotals, entries: number, at: (sequence: number) => number): AccountChange {
  const added: Entry[] = [];
  let { available, spent } = account;
  for (let made = 0; made < entries; made += 1) {
    const sequence = account.lastSequence + made + 1;
    const isHold = made % 2 === 0;
    const number = Math.floor(sequence / 2);
    if (isHold) available -= 1;
    else spent += 1;
    const attribution: Attribution = {
      credentialId: `service:${number % KEYS}`,
      modelKey: `model-${Math.floor(number / KEYS) % MODELS}`,
      clientTraceId: `trace-${((number * 48_271) % 2_147_483_647).toString(36)}`,
    };
    added.push({
      accountId: account.accountId,
      sequence,
      kind: isHold ? 'hold' : 'charge',
      from: isHold ? 'available' : 'reserved',
      to: isHold ? 'reserved' : 'spent',
      credits: 1,
      at: at(sequence),
      availableAfter: available,
      generationId: context.ids.uuid(),
      attribution,
    });
  }
  const { accountId, version, issued } = account;
  return {
    accountId,
    expectedVersion: version,
    version: version + 1,
    issued,
    available,
    reserved: 0,
    spent,
    lastSequence: account.lastSequence + entries,
    holdsOpened: [],
    holdsClosed: [],
    entries: added,
  };
}

const commands = {
  /** An even number of entries, over the last 31 days. */
  async fill({ entries }: { readonly entries: number }): Promise<FilledLedger> {
    const credential = await createCredential(program);
    const beganAt = performance.now();
    const now = context.clock.now();
    for (let left = entries; left > 0; left -= A_CHANGE) {
      const account = await context.accounts.read(credential.accountId, undefined, 'totals');
      if (!account) throw new Error('The account is there.');
      const at = (sequence: number) => Math.floor(now - MONTH_MS * (1 - sequence / (entries + 1)));
      await context.accounts.apply(changeOf(account, Math.min(left, A_CHANGE), at));
    }
    return { credential, elapsedMs: performance.now() - beganAt };
  },
};

export type FillLedgerCommands = typeof commands;

answerCommands(commands, () => program.close());
