import type { Passkey } from '../server-types.js';
import { makePasskey } from './make-passkey.js';
import { NameForm } from './name-form.js';

interface NewPasskeyFormProps {
  readonly added: (passkey: Passkey) => Promise<void>;
}

/** Makes a passkey by naming it. */
export function NewPasskeyForm({ added }: NewPasskeyFormProps) {
  return (
    <NameForm
      label="Name of a new passkey"
      name=""
      placeholder="laptop"
      doIt="Add a passkey"
      submit={async (name) => added(await makePasskey(name))}
    />
  );
}
