import { useRef, useState } from 'preact/hooks';
import { announce } from '../announce.js';
import type { Model, Role } from '../api-types.js';
import { numberText } from '../format.js';
import type { Reference, References } from './use-references.js';

const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  reference_image: 'Reference image',
  start_frame: 'Start frame',
  end_frame: 'End frame',
};

interface ReferenceListProps {
  readonly model: Model;
  readonly references: References;
  /** What is wrong with them, by their place. */
  readonly faultAt: (index: number) => string | undefined;
  /** What is wrong with all of them. */
  readonly fault: string | undefined;
}

/** Reference files: dropped or picked, with what each is for. */
export function ReferenceList({ model, references, faultAt, fault }: ReferenceListProps) {
  const { max_reference_uploads: most, upload_media_types: types, reference_roles: roles } = model.limits;
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  if (most === 0 || roles.length === 0) return null;
  const left = most - references.all.length;
  const add = (files: FileList | null): void => {
    const picked = Array.from(files ?? []);
    if (picked.length === 0) return;
    if (picked.length > left)
      announce(
        `${model.display_name} takes at most ${most} ${most === 1 ? 'file' : 'files'}; the others were left out.`,
      );
    references.add(picked.slice(0, Math.max(0, left)), freeRole(roles, references.all));
  };
  return (
    // Dropping is another way to what the button does, which the keyboard reaches.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <fieldset
      class={isOver ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        add(event.dataTransfer?.files ?? null);
      }}
    >
      <legend>Reference files (optional)</legend>
      <ul class="references">
        {references.all.map((reference, index) => (
          <ReferenceRow
            key={reference.key}
            reference={reference}
            roles={roles}
            references={references}
            fault={reference.fault ?? faultAt(index)}
          />
        ))}
      </ul>
      {fault === undefined ? null : <p class="field-fault">{fault}</p>}
      {left > 0 ? (
        <p class="drop-text">
          <button type="button" class="outline secondary small" onClick={() => input.current?.click()}>
            Choose files
          </button>
          <span class="quiet">{`or drop them here: ${typesText(types)}, up to ${sizeText(model.limits.max_upload_bytes)}`}</span>
        </p>
      ) : null}
      <input
        ref={input}
        type="file"
        multiple={most > 1}
        accept={types.join(',')}
        hidden
        onChange={({ currentTarget }) => {
          add(currentTarget.files);
          // The same file can be picked again.
          currentTarget.value = '';
        }}
      />
    </fieldset>
  );
}

/** One that no other file has, where each frame can be there once. */
function freeRole(roles: readonly Role[], all: readonly Reference[]): Role {
  const free = roles.find((role) => role === 'reference_image' || !all.some((one) => one.role === role));
  return free ?? roles[0] ?? 'reference_image';
}

interface ReferenceRowProps {
  readonly reference: Reference;
  readonly roles: readonly Role[];
  readonly references: References;
  readonly fault: string | undefined;
}

function ReferenceRow({ reference, roles, references, fault }: ReferenceRowProps) {
  const { key, name, role, state, preview, file } = reference;
  return (
    <li>
      {preview === undefined ? null : <img src={preview} alt="" />}
      <div class="reference-text">
        <span aria-busy={state === 'uploading'}>{name}</span>
        <span class="quiet" aria-live="polite">
          {state === 'uploading' ? 'Uploading…' : state === 'ready' ? 'Ready' : 'Not uploaded'}
        </span>
        {fault === undefined ? null : (
          <p class="field-fault" role="alert">
            {fault}
          </p>
        )}
      </div>
      {roles.length > 1 && file !== undefined ? (
        <select
          aria-label={`What ${name} is`}
          value={role}
          onChange={({ currentTarget }) => references.changeRole(key, currentTarget.value as Role)}
        >
          {roles.map((one) => (
            <option key={one} value={one}>
              {ROLE_TEXTS[one]}
            </option>
          ))}
        </select>
      ) : (
        <span class="quiet">{ROLE_TEXTS[role]}</span>
      )}
      <div class="actions">
        {state === 'failed' ? (
          <button type="button" class="outline secondary small" onClick={() => references.retry(key)}>
            Try again
          </button>
        ) : null}
        <button
          type="button"
          class="outline secondary small"
          aria-label={`Remove ${name}`}
          onClick={() => references.drop(key)}
        >
          Remove
        </button>
      </div>
    </li>
  );
}

function typesText(types: readonly string[]): string {
  return types.map((type) => type.replace(/^\w+\//, '').toUpperCase()).join(', ');
}

function sizeText(bytes: number): string {
  return bytes >= 1024 * 1024 ? `${numberText(Math.floor(bytes / 1024 / 1024))} MiB` : `${numberText(bytes)} bytes`;
}
