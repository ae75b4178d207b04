import { CircleAlert, KeyRound } from 'lucide-preact';
import { ConfirmDialog, type QuestionProps } from '../parts/buttons.js';
import { Icon } from '../parts/icon.js';
import { Empty } from '../parts/parts.js';
import type { Overview } from '../server-types.js';
import { codeOf } from '../server.js';
import { reloadOverview } from '../session.js';
import { type Action, useAction } from '../use-data.js';

/** Leads through another sign-in, and back to this page. */
function SignInWithPasskey() {
  const here = location.pathname + location.search;
  return (
    <form method="post" action={`/sign-out?return=${encodeURIComponent(here)}`}>
      <button type="submit" class="button small">
        Sign in again with a passkey
      </button>
    </form>
  );
}

/** In place of a page of the area, for an operator who has signed in another way. */
export function PasskeyNeeded({ overview: { person } }: { readonly overview: Overview }) {
  if (person.has_passkey)
    return (
      <div class="attention">
        <Icon of={KeyRound} />
        <span>Operator pages need a sign-in with a passkey. You signed in another way.</span>
        <SignInWithPasskey />
      </div>
    );
  return (
    <Empty
      icon={KeyRound}
      title="Operator pages need a passkey"
      text={
        <>
          You have none any more. Ask another operator to run <code>darkroom people demote</code>, add a passkey under
          Account, and have yourself promoted again.
        </>
      }
    />
  );
}

/** Above a page of the area, while it can be read and nothing can be changed. */
export function RecentSignInNeeded() {
  return (
    <div class="attention">
      <Icon of={KeyRound} />
      <span>You signed in more than 15 minutes ago. Sign in again to change anything here.</span>
      <SignInWithPasskey />
    </div>
  );
}

/** Refusals that another sign-in lifts. */
const SIGN_IN_CODES = ['RECENT_SIGN_IN_REQUIRED', 'PASSKEY_SIGN_IN_REQUIRED'];

function needsSignIn(error: unknown): boolean {
  return SIGN_IN_CODES.includes(codeOf(error));
}

/** A sign-in may have become too old since the page was opened, which the notice above then says. */
function reporting(error: unknown): never {
  if (needsSignIn(error)) void reloadOverview();
  throw error;
}

/** An action of an operator. */
export function useAct(): Action {
  const action = useAction();
  return { ...action, run: (work) => action.run(() => work().catch(reporting)) };
}

/** Says why an act did not happen, and leads to another sign-in where that helps. */
export function FailureNote({ fault, error }: Pick<Action, 'fault' | 'error'>) {
  if (fault === undefined) return null;
  return (
    <div class="attention bad" role="alert">
      <Icon of={CircleAlert} />
      <span>{fault}</span>
      {needsSignIn(error) ? <SignInWithPasskey /> : null}
    </div>
  );
}

/** A change that a dialog explains before it is made. `action` returns the sentence that says what it has done. */
export type Act = Omit<QuestionProps<string>, 'done' | 'note'>;

const NO_ACT: Act = { question: '', consequence: '', doIt: '', action: async () => '' };

interface ActDialogProps {
  /** Undefined while nothing is asked. */
  readonly act: Act | undefined;
  readonly close: () => void;
  readonly done: (sentence: string) => Promise<void> | void;
}

/** Asks before a change, with the fields that it needs. Escape closes it. */
export function ActDialog({ act, close, done }: ActDialogProps) {
  const { action, children = null, ...question } = act ?? NO_ACT;
  return (
    <ConfirmDialog
      {...question}
      isOpen={act !== undefined}
      close={close}
      action={(form) => action(form).catch(reporting)}
      done={done}
      note={FailureNote}
    >
      {children}
    </ConfirmDialog>
  );
}

/** What cannot be undone is ticked before it is done. */
export function Understood() {
  return (
    <label class="check">
      <input type="checkbox" required />
      <span>I know that this can’t be undone.</span>
    </label>
  );
}
