-- Health of Infrastructure `cluster` in Argo CD: has the cluster the topology that Git requests?
-- controller/topology_deploy/fleet/meaning.py says what it means.

local function at(value, ...)
  for _, name in ipairs({...}) do
    if type(value) ~= "table" then return nil end
    value = value[name]
  end
  return value
end

local controlPlaneTopology = at(obj, "status", "controlPlaneTopology")
local image_based_install = at(obj, "metadata", "labels", "topology.openshift.io/image-based-install")
local topologyTransition = at(obj, "status", "topologyTransition")
local desiredTopology = at(obj, "spec", "desiredTopology")
local phase = at(obj, "status", "topologyTransition", "phase")
local problem = at(obj, "status", "topologyTransition", "problem")
local observedGeneration = at(obj, "status", "topologyTransition", "observedGeneration")
local generation = at(obj, "metadata", "generation")

local function state()
  if controlPlaneTopology == "External" or (image_based_install ~= nil and image_based_install ~= "false") then return "NotForUs" end
  if topologyTransition == nil and desiredTopology ~= nil then return "UnderWay" end
  if topologyTransition == nil then return "Silent" end
  if desiredTopology == nil and (phase == "Idle" or phase == "Completed") and problem == nil then return "Ready" end
  if not ((observedGeneration or 0) >= (generation or 0)) then return "UnderWay" end
  if (phase == "Idle" or phase == "Completed") and problem == nil and desiredTopology ~= nil and desiredTopology == controlPlaneTopology then return "Done" end
  if problem ~= nil or phase == "Unsupported" or phase == "Idle" then return "NeedsAPerson" end
  return "UnderWay"
end

local function part(value, name)
  if type(value) == "table" and value[name] ~= nil then return tostring(value[name]) end
  return nil
end

local found = state()
local status, message = "Progressing", nil
local asked = tostring(desiredTopology) .. " is requested"

if found == "NotForUs" then
  if desiredTopology == nil then
    status, message = "Healthy", "The topology of this cluster is decided elsewhere"
  else
    status, message = "Degraded", asked .. ", and no operator acts on it: "
      .. (part(topologyTransition, "message") or "the control plane is hosted, or an image decides")
  end
elseif found == "Silent" or found == "Ready" then
  status, message = "Healthy", "No topology is requested"
elseif found == "Done" then
  status, message = "Healthy", "The cluster has the requested topology " .. desiredTopology
elseif topologyTransition == nil then
  message = asked .. "; the cluster topology operator has not answered yet"
elseif (observedGeneration or 0) < (generation or 0) then
  message = "The cluster topology operator has not answered the newest request yet"
elseif problem ~= nil then
  message = (part(problem, "reason") or "Problem") .. ": " .. (part(problem, "message") or "")
else
  message = tostring(phase or "Unknown phase") .. ": " .. (part(topologyTransition, "message") or "")
end

if found == "NeedsAPerson" then
  if part(problem, "reason") == "Paused" then status = "Suspended" else status = "Degraded" end
end

return {status = status, message = message}
