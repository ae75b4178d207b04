import { RequestFailed, sentenceOf } from '../server.js';
import { SignInWithPasskey } from './passkey-sign-in.js';

/** Refusals that another sign-in lifts. */
const SIGN_IN_CODES: readonly (string | undefined)[] = ['RECENT_SIGN_IN_REQUIRED', 'PASSKEY_SIGN_IN_REQUIRED'];

/** Why an act did not happen. */
export interface ActFailure {
  readonly sentence: string;
  readonly needsSignIn: boolean;
}

export function failureOf(error: unknown): ActFailure {
  return {
    sentence: sentenceOf(error),
    needsSignIn: error instanceof RequestFailed && SIGN_IN_CODES.includes(error.code),
  };
}

/** Says why, and leads to another sign-in where that helps. */
export function FailureNote({ failure }: { readonly failure: ActFailure | undefined }) {
  if (failure === undefined) return null;
  return (
    <div class="fault" role="alert">
      <p>{failure.sentence}</p>
      {failure.needsSignIn ? <SignInWithPasskey /> : null}
    </div>
  );
}
