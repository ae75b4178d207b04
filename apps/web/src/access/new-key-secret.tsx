import { ShownOnce } from '../parts/shown-once.js';

interface NewKeySecretProps {
  readonly secret: string;
  readonly onDone: () => void;
}

export function NewKeySecret({ secret, onDone }: NewKeySecretProps) {
  return (
    <ShownOnce secret={secret} onDone={onDone}>
      <strong>Copy the secret now. It is shown this once</strong>, and nobody can find it out later. Whoever has it can
      use the key.
    </ShownOnce>
  );
}
