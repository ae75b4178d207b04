import { textOf, timeText } from '../../format.js';
import { Card, Loaded } from '../../parts/parts.js';
import { change } from '../../server.js';
import { afterChange, useData } from '../../use-data.js';
import { ActButton } from '../act-button.js';
import type { Account, Erasure, Person } from '../server-types.js';

interface ErasureCardProps {
  readonly account: Account;
  readonly path: string;
  readonly changed: () => Promise<void>;
}

type Requested = { readonly erasure: Erasure };

/** Erases the account, or what has one trace id in it; of an erased account, how far that is. */
export function ErasureCard({ account, path, changed }: ErasureCardProps) {
  const done = afterChange(changed, 'erasure');
  return (
    <Card
      id="erasure"
      title="Erasure"
      note="Removes content and names for good. The ledger keeps amounts, times and ids."
    >
      {account.erased_at === undefined ? (
        <div class="row wrap">
          <EraseTrace path={path} done={done} />
          <EraseAccount account={account} path={path} done={done} />
        </div>
      ) : (
        <State id={account.account_id} />
      )}
    </Card>
  );
}

function State({ id }: { readonly id: string }) {
  const erasure = useData<Requested>(`/operator/erasures/${id}`);
  return (
    <Loaded data={erasure} what="the erasure">
      {({ erasure: shown }) => <p>{stateText(shown)}</p>}
    </Loaded>
  );
}

function stateText({ requested_at: requested, erased_at: erased, completed_at: completed }: Erasure): string {
  if (completed !== undefined) return `The account is erased, since ${timeText(completed)}.`;
  if (erased !== undefined)
    return `The account is erased, since ${timeText(erased)}. Late remains are removed an hour later.`;
  return `The account is being erased, since ${timeText(requested)}.`;
}

interface ActProps {
  readonly path: string;
  readonly done: (sentence: string) => Promise<void>;
}

function EraseAccount({ account, path, done }: ActProps & Pick<ErasureCardProps, 'account'>) {
  return (
    <ActButton
      label="Erase the account"
      question={`Erase “${account.name}”?`}
      consequence="Its name, people, keys, generations with prompts and outputs, uploads, webhooks, and the reasons and trace ids of its ledger are removed. What is open is cancelled. Amounts, times and ids of the ledger stay. Credits that are left can no longer be used."
      doIt="Erase it"
      action={() => change<Requested>(`${path}/erase`, { is_final: true })}
      done={() => done('The account is being erased, and accepts nothing any more.')}
    >
      <Understood />
    </ActButton>
  );
}

function EraseTrace({ path, done }: ActProps) {
  return (
    <ActButton
      label="Erase a trace"
      question="Erase what has one client_trace_id?"
      consequence="The generations of this account that have it are removed with their prompts, outputs and reference uploads, and it is removed from the ledger. What is open is cancelled. Credits stay as they are."
      doIt="Erase it"
      action={(form) =>
        change<Requested>(`${path}/erase-trace`, { client_trace_id: textOf(form, 'trace'), is_final: true })
      }
      done={({ erasure }) => done(`It is being erased. The erasure has the id ${erasure.erasure_id}.`)}
    >
      <label>
        client_trace_id
        <input name="trace" required maxLength={128} autocomplete="off" />
      </label>
      <Understood />
    </ActButton>
  );
}

interface ErasePersonProps extends Pick<ActProps, 'done'> {
  readonly person: Person;
}

export function ErasePerson({ person: { person_id: id, email }, done }: ErasePersonProps) {
  return (
    <ActButton
      label="Erase"
      fullLabel={`Erase ${email}`}
      question={`Erase ${email}?`}
      consequence="Their e-mail address, password, passkeys, sessions and connected programs are removed. What they made is the account’s, and stays."
      doIt="Erase them"
      action={() => change<Requested>(`/operator/people/${id}/erase`, { is_final: true })}
      done={() => done('The person is being erased, and cannot sign in any more.')}
    >
      <Understood />
    </ActButton>
  );
}

function Understood() {
  return (
    <label>
      <input type="checkbox" required />
      {' This cannot be undone'}
    </label>
  );
}
