import { Copyable } from '../parts/copyable.js';

interface NewKeySecretProps {
  readonly secret: string;
  readonly onDone: () => void;
}

export function NewKeySecret({ secret, onDone }: NewKeySecretProps) {
  return (
    <div class="secret">
      <p>
        <strong>Copy the secret now. It is shown this once</strong>, and nobody can find it out later. Whoever has it
        can use the key.
      </p>
      <Copyable text={secret} what="the secret" />
      <button type="button" onClick={onDone}>
        I have copied it
      </button>
    </div>
  );
}
