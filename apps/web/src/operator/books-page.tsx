import { focusOn } from '../use-data.js';
import { useEffect, useState } from 'preact/hooks';
import { announce } from '../parts/toasts.js';
import { Card } from '../parts/parts.js';
import { FailureNote, useAct } from './act-button.js';
import { type CheckLine, counted } from './server-types.js';
import { linesOf } from './places.js';

/** Recomputes every ledger from its entries, while this page is open. */
export function BooksPage() {
  const [said, setSaid] = useState<CheckLine>();
  const { fault, error, run } = useAct();
  const [running, setRunning] = useState<AbortController>();
  useEffect(() => () => running?.abort(), [running]);
  const begin = async (): Promise<void> => {
    const own = new AbortController();
    setRunning(own);
    setSaid(undefined);
    await run(() => check(own.signal, setSaid));
    setRunning((now) => (now === own ? undefined : now));
  };
  const stop = (): void => {
    setRunning(undefined);
    announce('The check is stopped.');
    focusOn('check');
  };
  return (
    <Card
      id="check"
      title="Check the books"
      note="Recomputes every ledger from its entries, and compares it with its account and its generations. It reads everything, at half speed, so that it may take long; it goes on while this page is open."
    >
      <FailureNote fault={fault} error={error} />
      {said === undefined ? null : <Result said={said} isRunning={running !== undefined} />}
      {running !== undefined ? (
        <button type="button" class="button small danger" onClick={stop}>
          Stop the check
        </button>
      ) : (
        <button type="button" class="button small" onClick={() => void begin()}>
          {said === undefined ? 'Check the books' : 'Check again'}
        </button>
      )}
    </Card>
  );
}

/** Passes each line of a check on. Ends quietly when it is stopped. */
async function check(signal: AbortSignal, say: (line: CheckLine) => void): Promise<void> {
  try {
    for await (const line of linesOf<CheckLine>('/operator/verify', signal)) {
      if (signal.aborted) return;
      say(line);
      if (line.findings !== undefined) announce('The check has ended.');
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function Result({ said, isRunning }: { readonly said: CheckLine; readonly isRunning: boolean }) {
  const { findings } = said;
  const looked = `${counted(said.accounts, 'account')}, ${counted(said.entries, 'entry', 'entries')} and ${counted(said.generations, 'generation')}`;
  if (findings?.length === 0) return <p class="attention">{`${looked} agree.`}</p>;
  if (findings !== undefined)
    return (
      <div class="attention bad" role="alert">
        <p>{`The ledgers do not match in ${counted(findings.length, 'place')} (${looked} looked at). Copy the data before you do anything else.`}</p>
        <ul>
          {findings.map((finding) => (
            <li key={finding}>{finding}</li>
          ))}
        </ul>
      </div>
    );
  if (said.fault !== undefined)
    return <p class="attention bad" role="alert">{`The check could not go on after ${looked}. ${said.fault}`}</p>;
  if (said.is_stopped === true || !isRunning) return <p class="small muted">{`Stopped after ${looked}.`}</p>;
  return <p aria-busy="true">{`${looked} looked at…`}</p>;
}
