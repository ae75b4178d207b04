import { useEffect, useState } from 'preact/hooks';
import { announce } from '../announce.js';
import { Card, focusOn } from '../parts/parts.js';
import { type ActFailure, FailureNote, failureOf } from './act-button.js';
import { type CheckLine, counted } from './server-types.js';
import { linesOf } from './use-pages.js';

/** Recomputes every ledger from its entries, while this page is open. */
export function BooksPage({ refused }: { readonly refused: () => void }) {
  const [said, setSaid] = useState<CheckLine>();
  const [failure, setFailure] = useState<ActFailure>();
  const [running, setRunning] = useState<AbortController>();
  useEffect(() => () => running?.abort(), [running]);
  const begin = async (): Promise<void> => {
    const own = new AbortController();
    setRunning(own);
    setSaid(undefined);
    setFailure(undefined);
    try {
      for await (const line of linesOf<CheckLine>('/operator/verify', own.signal)) {
        if (own.signal.aborted) return;
        setSaid(line);
        if (line.findings !== undefined) announce('The check has ended.');
      }
    } catch (error) {
      if (own.signal.aborted) return;
      const failed = failureOf(error);
      setFailure(failed);
      if (failed.needsSignIn) refused();
    } finally {
      setRunning((now) => (now === own ? undefined : now));
    }
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
      <FailureNote failure={failure} />
      {said === undefined ? null : <Result said={said} isRunning={running !== undefined} />}
      {running !== undefined ? (
        <button type="button" class="outline danger small" onClick={stop}>
          Stop the check
        </button>
      ) : (
        <button type="button" class="outline small" onClick={() => void begin()}>
          {said === undefined ? 'Check the books' : 'Check again'}
        </button>
      )}
    </Card>
  );
}

function Result({ said, isRunning }: { readonly said: CheckLine; readonly isRunning: boolean }) {
  const { findings } = said;
  const looked = `${counted(said.accounts, 'account')}, ${counted(said.entries, 'entry', 'entries')} and ${counted(said.generations, 'generation')}`;
  if (findings?.length === 0) return <p class="notice">{`${looked} agree.`}</p>;
  if (findings !== undefined)
    return (
      <div class="fault" role="alert">
        <p>{`The ledgers do not match in ${counted(findings.length, 'place')} (${looked} looked at). Copy the data before you do anything else.`}</p>
        <ul>
          {findings.map((finding) => (
            <li key={finding}>{finding}</li>
          ))}
        </ul>
      </div>
    );
  if (said.fault !== undefined)
    return <p class="fault" role="alert">{`The check could not go on after ${looked}. ${said.fault}`}</p>;
  if (said.is_stopped === true || !isRunning) return <p class="quiet">{`Stopped after ${looked}.`}</p>;
  return <p aria-busy="true">{`${looked} looked at…`}</p>;
}
