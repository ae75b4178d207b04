import { useEffect, useState } from 'preact/hooks';
import { CircleAlert, CircleCheck } from 'lucide-preact';
import { numberText } from '../format.js';
import { Button } from '../parts/buttons.js';
import { Icon } from '../parts/icon.js';
import { Card, Figures } from '../parts/parts.js';
import { announce } from '../parts/toasts.js';
import { focusOn } from '../use-data.js';
import { FailureNote, useAct } from './acts.js';
import { AreaPage, linesOf } from './places.js';
import { type CheckLine, counted } from './server-types.js';

/** Recomputes every ledger from its entries, while this page is open. */
export function LedgerCheckPage() {
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
    announce('The ledger check is stopped.');
    focusOn('check');
  };
  const isRunning = running !== undefined;
  return (
    <AreaPage title="Ledger check">
      <Card
        id="check"
        title="All accounts"
        note="Recomputes each ledger from its entries, and compares it with its account and its generations."
        actions={
          isRunning ? (
            <Button isSmall kind="danger" onClick={stop}>
              Stop check
            </Button>
          ) : (
            <Button isSmall kind={said === undefined ? 'primary' : undefined} onClick={() => void begin()}>
              {said === undefined ? 'Check ledger' : 'Check again'}
            </Button>
          )
        }
      >
        <FailureNote fault={fault} error={error} />
        <Result said={said} isRunning={isRunning} />
        <p class="small muted">
          It reads everything at half speed, so it may take long. It goes on while this page is open.
        </p>
      </Card>
    </AreaPage>
  );
}

/** Passes each line of a check on. Ends quietly when it is stopped. */
async function check(signal: AbortSignal, say: (line: CheckLine) => void): Promise<void> {
  try {
    for await (const line of linesOf<CheckLine>('/operator/verify', signal)) {
      if (signal.aborted) return;
      say(line);
      if (line.findings !== undefined) announce('The ledger check has ended.');
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

interface ResultProps {
  readonly said: CheckLine | undefined;
  readonly isRunning: boolean;
}

function Result({ said, isRunning }: ResultProps) {
  if (said === undefined && !isRunning) return null;
  const { accounts = 0, entries = 0, generations = 0 } = said ?? {};
  return (
    <>
      <Figures
        figures={[
          { name: 'Accounts', value: numberText(accounts) },
          { name: 'Entries', value: numberText(entries) },
          { name: 'Generations', value: numberText(generations) },
        ]}
      />
      <Outcome said={said} isRunning={isRunning} />
    </>
  );
}

function Outcome({ said, isRunning }: ResultProps) {
  if (said?.findings?.length === 0)
    return (
      <p class="row good">
        <Icon of={CircleCheck} />
        {balanceText(said.accounts)}
      </p>
    );
  if (said?.findings !== undefined) return <Findings findings={said.findings} />;
  if (said?.fault !== undefined)
    return (
      <p class="attention bad" role="alert">
        <Icon of={CircleAlert} />
        <span>{`The check could not continue. ${said.fault}`}</span>
      </p>
    );
  if (isRunning && said?.is_stopped !== true)
    return (
      <p class="row small" aria-busy="true">
        <span class="spinner" />
        Checking…
      </p>
    );
  return <p class="small muted">Stopped before the end. What was checked has no finding so far.</p>;
}

function balanceText(accounts: number): string {
  return accounts === 1 ? 'The one account balances.' : `All ${numberText(accounts)} accounts balance.`;
}

function Findings({ findings }: { readonly findings: readonly string[] }) {
  return (
    <div role="alert" class="stack-s">
      <p class="attention bad">
        <Icon of={CircleAlert} />
        <span>{`The ledgers do not match in ${counted(findings.length, 'place')}. Copy the data before you do anything else.`}</span>
      </p>
      <ul class="findings">
        {findings.map((finding) => (
          <li key={finding}>{finding}</li>
        ))}
      </ul>
    </div>
  );
}
