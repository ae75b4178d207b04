import type { Model } from '../api-types.js';
import { FieldFrame } from './form/field-frame.js';
import { ParameterInput } from './form/parameter-input.js';
import { ALL_PARAMETERS, pointerTo } from './form/parameter-values.js';
import type { Form } from './use-form.js';
import { ReferenceList } from './reference-list.js';
import type { References } from './use-references.js';

/** A sentence of the server or of this page about a field, by its JSON Pointer. */
export type FaultAt = (pointer: string) => string | undefined;

interface RequestFormProps {
  readonly models: readonly Model[];
  readonly form: Form;
  readonly references: References;
  readonly faultAt: FaultAt;
}

/** The fields of a request: the model, the prompts, what the model takes besides, and files. */
export function RequestForm({ models, form, references, faultAt }: RequestFormProps) {
  const { model } = form;
  return (
    <>
      <label class="field">
        Model
        <select value={model.model_key} onChange={({ currentTarget }) => form.pickModel(currentTarget.value)}>
          {models.map(({ model_key: key, display_name: name }) => (
            <option key={key} value={key}>
              {name}
            </option>
          ))}
        </select>
        {model.description === undefined ? null : <small>{model.description}</small>}
      </label>
      <TextField
        id="prompt"
        label="Prompt"
        text={form.prompt}
        changed={form.setPrompt}
        fault={faultAt('/prompt')}
        isRequired
      />
      {model.limits.negative_prompt ? (
        <TextField
          id="negative-prompt"
          label="Negative prompt"
          text={form.negativePrompt}
          changed={form.setNegativePrompt}
          fault={faultAt('/negative_prompt')}
        />
      ) : null}
      <ReferenceList
        model={model}
        references={references}
        faultAt={(index) => faultAt(`/reference_upload_ids/${index}`)}
        fault={faultAt('/reference_upload_ids')}
      />
      <ParameterFields form={form} faultAt={faultAt} />
    </>
  );
}

function ParameterFields({ form, faultAt }: Pick<RequestFormProps, 'form' | 'faultAt'>) {
  const { fields, texts, setText } = form;
  if (fields === undefined)
    return (
      <TextField
        id="parameters"
        label="Parameters"
        note="As a JSON object."
        text={texts[ALL_PARAMETERS] ?? ''}
        changed={(text) => setText(ALL_PARAMETERS, text)}
        fault={faultAt('/parameters')}
      />
    );
  if (fields.length === 0) return null;
  return (
    <div class="fields">
      {fields.map((field) => (
        <ParameterInput
          // Another model's parameter of this name is another field.
          key={`${form.model.model_key} ${field.name}`}
          field={field}
          text={texts[field.name] ?? ''}
          fault={faultAt(pointerTo(field.name))}
          changed={(text) => setText(field.name, text)}
        />
      ))}
    </div>
  );
}

interface TextFieldProps {
  readonly id: string;
  readonly label: string;
  readonly note?: string;
  readonly text: string;
  readonly changed: (text: string) => void;
  readonly fault: string | undefined;
  readonly isRequired?: boolean;
}

function TextField({ id, label, note = '', text, changed, fault, isRequired = false }: TextFieldProps) {
  return (
    <FieldFrame id={id} label={label} note={note} fault={fault} isRequired={isRequired}>
      {(about) => (
        <textarea
          {...about}
          rows={isRequired ? 3 : 2}
          value={text}
          onInput={({ currentTarget }) => changed(currentTarget.value)}
        />
      )}
    </FieldFrame>
  );
}
