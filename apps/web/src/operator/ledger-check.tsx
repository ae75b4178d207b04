import { useEffect, useState } from 'preact/hooks';
import { numberText } from '../format.js';
import { Button } from '../parts/buttons.js';
import { Icon } from '../parts/icon.js';
import { ActionFault, Card, Fault, Figures } from '../parts/parts.js';
import { announce } from '../parts/toasts.js';
import { API, codeOf, Explained, refusalOf } from '../server.js';
import { focusOn, useAction } from '../use-data.js';
import { AreaPage, counted, type Numbers } from './area-page.js';

/** A line of a check of the ledgers: its progress, and in the last line its outcome. */
interface CheckLine extends Numbers<'accounts' | 'entries' | 'generations'> {
  readonly findings?: readonly string[];
  readonly is_stopped?: true;
  readonly fault?: string;
}

/** Recomputes every ledger from its entries, while this page is open. */
export function LedgerCheckPage() {
  const [said, setSaid] = useState<CheckLine>();
  const doing = useAction();
  const [running, setRunning] = useState<AbortController>();
  useEffect(() => () => running?.abort(), [running]);
  const begin = (): void => {
    const own = new AbortController();
    setRunning(own);
    setSaid(undefined);
    void doing.run(() => check(own.signal, setSaid));
  };
  const stop = (): void => {
    running?.abort();
    announce('The ledger check is stopped.');
    focusOn('check');
  };
  return (
    <AreaPage title="Ledger check">
      <Card
        id="check"
        title="All accounts"
        note="Recomputes each ledger from its entries, and compares it with its account and its generations."
        actions={
          doing.isBusy ? (
            <Button isSmall kind="danger" onClick={stop}>
              Stop check
            </Button>
          ) : (
            <Button isSmall kind={said === undefined ? 'primary' : undefined} onClick={begin}>
              {said === undefined ? 'Check ledger' : 'Check again'}
            </Button>
          )
        }
      >
        <ActionFault doing={doing} />
        {said === undefined && !doing.isBusy ? null : (
          <>
            <Figures
              figures={[
                { name: 'Accounts', value: numberText(said?.accounts ?? 0) },
                { name: 'Entries', value: numberText(said?.entries ?? 0) },
                { name: 'Generations', value: numberText(said?.generations ?? 0) },
              ]}
            />
            <Outcome said={said} isRunning={doing.isBusy} />
          </>
        )}
        <p class="small muted">
          It reads everything at half speed, so it may take long. It goes on while this page is open.
        </p>
      </Card>
    </AreaPage>
  );
}

const UNREADABLE = 'The server gave an answer that this page cannot read.';

/** Passes each line of a check on. Ends quietly when it is stopped. Throws `Explained`, or the refusal. */
async function check(signal: AbortSignal, say: (line: CheckLine) => void): Promise<void> {
  try {
    const headers = { 'Content-Type': 'application/json' };
    const init: RequestInit = { method: 'POST', headers, body: '{}', signal, cache: 'no-store' };
    const response = await fetch(`${API}/operator/verify`, init);
    if (!response.ok || response.body === null) {
      const refusal = await refusalOf(response);
      throw codeOf(refusal) === '' ? new Explained(UNREADABLE) : refusal;
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const said = JSON.parse(line) as CheckLine;
        say(said);
        if (said.findings !== undefined) announce('The ledger check has ended.');
      }
    }
  } catch (error) {
    if (signal.aborted) return;
    // A line that is not of the service, such as one of a proxy.
    if (error instanceof SyntaxError) throw new Explained(UNREADABLE);
    throw error instanceof TypeError ? new Explained('The connection to the server was lost. Try again.') : error;
  }
}

function Outcome({ said, isRunning }: { said: CheckLine | undefined; isRunning: boolean }) {
  if (said?.findings?.length === 0)
    return (
      <p class="row good">
        <Icon of="circle-check" />
        {said.accounts === 1 ? 'The one account balances.' : `All ${numberText(said.accounts)} accounts balance.`}
      </p>
    );
  if (said?.findings !== undefined)
    return (
      <>
        <Fault
          text={`The ledgers do not match in ${counted(said.findings.length, 'place')}. Copy the data before you do anything else.`}
        />
        <ul class="findings">
          {said.findings.map((finding) => (
            <li key={finding}>{finding}</li>
          ))}
        </ul>
      </>
    );
  if (said?.fault !== undefined) return <Fault text={`The check could not continue. ${said.fault}`} />;
  if (isRunning && said?.is_stopped !== true)
    return (
      <p class="row small" aria-busy="true">
        <span class="spinner" />
        Checking…
      </p>
    );
  return <p class="small muted">Stopped before the end. What was checked has no finding so far.</p>;
}
