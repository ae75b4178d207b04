import { Eraser } from 'lucide-preact';
import { textOf, timeText } from '../../format.js';
import { Field } from '../../parts/form.js';
import { Icon } from '../../parts/icon.js';
import { Loaded } from '../../parts/parts.js';
import { change } from '../../server.js';
import { useData } from '../../use-data.js';
import { type Act, Understood } from '../acts.js';
import type { Account, Erasure, Person } from '../server-types.js';

type Requested = { readonly erasure: Erasure };

const POLL_MS = 5_000;

/** How far the erasure of an account is. */
export function ErasureState({ id }: { readonly id: string }) {
  const erasure = useData<Requested>(`/operator/erasures/${id}`, { everyMs: POLL_MS });
  return (
    <Loaded data={erasure} what="the erasure">
      {({ erasure: shown }) => (
        <p class="attention">
          <Icon of={Eraser} />
          <span>{stateText(shown)}</span>
        </p>
      )}
    </Loaded>
  );
}

function stateText({ requested_at: requested, erased_at: erased, completed_at: completed }: Erasure): string {
  if (completed !== undefined) return `The account is erased, since ${timeText(completed)}.`;
  if (erased !== undefined)
    return `The account is erased, since ${timeText(erased)}. Late remains are removed an hour later.`;
  return `The account is being erased, since ${timeText(requested)}.`;
}

export function eraseAccountAct({ name }: Account, path: string): Act {
  return {
    question: `Erase “${name}”?`,
    consequence:
      'Its name, people, keys, generations with prompts and outputs, uploads, webhooks, and the reasons and trace ids of its ledger are removed. What is open is cancelled. Amounts, times and ids of the ledger stay. Credits that are left can no longer be used.',
    doIt: 'Erase account',
    busyText: 'Erasing…',
    children: <Understood />,
    action: async () => {
      await change(`${path}/erase`, { is_final: true });
      return 'The account is being erased, and accepts nothing any more.';
    },
  };
}

export function eraseTraceAct(path: string): Act {
  return {
    question: 'Erase everything with one client_trace_id?',
    consequence:
      'The generations of this account that have it are removed with their prompts, outputs and reference uploads, and it is removed from the ledger. What is open is cancelled. Credits stay as they are.',
    doIt: 'Erase trace',
    busyText: 'Erasing…',
    children: (
      <>
        <Field label="client_trace_id">
          {(control) => <input {...control} class="input" name="trace" required maxLength={128} />}
        </Field>
        <Understood />
      </>
    ),
    action: async (form) => {
      const { erasure } = await change<Requested>(`${path}/erase-trace`, {
        client_trace_id: textOf(form, 'trace'),
        is_final: true,
      });
      return `The trace is being erased. The erasure has the id ${erasure.erasure_id}.`;
    },
  };
}

export function erasePersonAct({ person_id: id, email }: Person): Act {
  return {
    question: `Erase ${email}?`,
    consequence:
      'Their e-mail address, password, passkeys, sessions and connected programs are removed. What they made belongs to the account, and stays.',
    doIt: 'Erase person',
    busyText: 'Erasing…',
    children: <Understood />,
    action: async () => {
      await change(`/operator/people/${id}/erase`, { is_final: true });
      return 'The person is being erased, and can’t sign in any more.';
    },
  };
}
