import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { ConfirmButton, type ConfirmButtonProps } from '../parts/buttons.js';
import { Card } from '../parts/parts.js';
import type { Overview } from '../server-types.js';
import { change, codeOf } from '../server.js';
import { type Action, useAction } from '../use-data.js';
import type { Generation } from './server-types.js';

/** Leads through another sign-in, and back to this page. */
function SignInWithPasskey() {
  return (
    <form method="post" action={`/sign-out?return=${encodeURIComponent(location.pathname)}`}>
      <button type="submit" class="button small">
        Sign in again with a passkey
      </button>
    </form>
  );
}

/** In place of a page of the area, for an operator who has signed in another way. */
export function PasskeyNeeded({ overview: { person } }: { readonly overview: Overview }) {
  return (
    <Card id="passkey-needed" title="A passkey is needed">
      {person.has_passkey ? (
        <>
          <p>You are an operator, and have signed in another way. What operators see takes a sign-in with a passkey.</p>
          <SignInWithPasskey />
        </>
      ) : (
        <p>
          You are an operator, and have no passkey any more. Have another operator demote you with{' '}
          <code>darkroom people demote</code>, add a passkey under Sign-in, and be promoted again.
        </p>
      )}
    </Card>
  );
}

/** Above a page of the area, while it can be read and nothing can be changed. */
export function RecentSignInNeeded() {
  return (
    <div class="attention">
      <p>You signed in more than 15 minutes ago. To change anything here, sign in again.</p>
      <SignInWithPasskey />
    </div>
  );
}

/** Refusals that another sign-in lifts. */
const SIGN_IN_CODES = ['RECENT_SIGN_IN_REQUIRED', 'PASSKEY_SIGN_IN_REQUIRED'];

function needsSignIn(error: unknown): boolean {
  return SIGN_IN_CODES.includes(codeOf(error));
}

/** Called after a refusal that another sign-in would lift. */
export const Refused = createContext<() => void>(() => undefined);

/** An action of an operator. Refusals that another sign-in would lift are reported to the area. */
export function useAct(): Action {
  const refused = useContext(Refused);
  const action = useAction();
  return { ...action, run: (work) => action.run(() => work().catch(reporting(refused))) };
}

function reporting(refused: () => void): (error: unknown) => never {
  return (error) => {
    if (needsSignIn(error)) refused();
    throw error;
  };
}

/** Says why an act did not happen, and leads to another sign-in where that helps. */
export function FailureNote({ fault, error }: Pick<Action, 'fault' | 'error'>) {
  if (fault === undefined) return null;
  return (
    <div class="attention bad" role="alert">
      <p>{fault}</p>
      {needsSignIn(error) ? <SignInWithPasskey /> : null}
    </div>
  );
}

/** A button for a change: a dialog explains the effect and asks for the input. Escape closes it. */
export function ActButton<T>({ action, children = null, ...props }: ConfirmButtonProps<T>) {
  const refused = useContext(Refused);
  return (
    <ConfirmButton {...props} action={(form) => action(form).catch(reporting(refused))} note={FailureNote}>
      {children}
    </ConfirmButton>
  );
}

interface CancelButtonProps {
  readonly generation: Generation;
  readonly done: (sentence: string) => Promise<void>;
}

/** Cancels a generation, as its client could. */
export function CancelButton({ generation: { generation_id: id, model_key: model }, done }: CancelButtonProps) {
  return (
    <ActButton
      label="Cancel"
      fullLabel={`Cancel the generation ${id}`}
      question="Cancel this generation?"
      consequence={`It is of the model ${model}. If it waits, it ends at once and costs nothing. If it runs, it ends when its provider stops, and what was delivered is charged.`}
      doIt="End it"
      action={() => change<{ readonly generation: Generation }>(`/operator/generations/${id}/cancel`)}
      done={({ generation: { status } }) => done(sentenceOfCancelButton(status))}
    />
  );
}

function sentenceOfCancelButton(status: Generation['status']): string {
  if (status === 'cancelled') return 'The generation is cancelled.';
  return status === 'queued' || status === 'running'
    ? 'The generation is asked to stop.'
    : `The generation had ${status} before; nothing was changed.`;
}
